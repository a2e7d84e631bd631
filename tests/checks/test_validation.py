"""The default of ``validate_args``: it is strukt's own, and ``torch.compile`` does not change it."""

import pytest
import torch

import strukt
from strukt.errors import OutOfRangeError
from strukt.losses import sparsemax_loss

NAN, ZEROS = torch.full((3, 2), torch.nan), torch.zeros(2, 2)

CALLS = {
    "structure": lambda **options: strukt.LinearChain(NAN, ZEROS, **options),
    "loss": lambda **options: sparsemax_loss(torch.zeros(1, 2), torch.full((1, 2), torch.nan), **options),
    "hidden Markov model": lambda **options: strukt.HMM(NAN[0], ZEROS, torch.zeros(2, 4), **options),
    "event": lambda **options: strukt.LinearChain(ZEROS, ZEROS, **options).log_prob(torch.tensor([0, 5])),
}


@pytest.fixture
def restored():
    yield
    strukt.set_default_validate_args(True)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_checks_are_on_in_eager_code_even_after_a_compilation(call):
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
    assert not torch.distributions.Distribution._validate_args
    with pytest.raises(ValueError, match=r"nan|is not a structure"):
        call()
    call(validate_args=False)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_default_can_be_switched_off(call):
    strukt.LinearChain.set_default_validate_args(False)
    call()
    with pytest.raises(ValueError, match=r"nan|is not a structure"):
        call(validate_args=True)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # by torch.compile
def test_compiled_graphs_leave_checks_out():
    def log_prob(unary):
        return strukt.LinearChain(unary, ZEROS).log_prob(torch.zeros(3, dtype=torch.long))

    torch.compile(log_prob, backend="aot_eager", fullgraph=True)(NAN)
    with pytest.raises(OutOfRangeError):
        log_prob(NAN)


@pytest.mark.parametrize("value", ["no", None, 3])
def test_the_default_is_true_or_false(value):
    with pytest.raises(ValueError, match="expected True or False"):
        strukt.set_default_validate_args(value)
