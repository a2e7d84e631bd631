"""Constants are remembered, and everything else is not taken for one."""

import pytest
import torch

import strukt
from strukt.kernels import constants
from strukt.kernels.constants import constant, number

CPU = torch.device("cpu")


def test_expanded_constants_keep_their_number():
    rows = constant(1.25, CPU).expand(2, 1, 3).reshape(-1)
    assert number(rows) == 1.25
    assert number(rows.detach().unsqueeze(-1)) == 1.25
    assert constant(1.25, CPU) is constant(1.25, CPU)
    assert number(torch.full((2,), 1.25)) is None
    assert number(rows.clone()) is None


def test_autograd_saves_a_constant_made_without_it():
    with torch.inference_mode():
        made = constant(1.375, CPU)
    x = torch.ones(2, requires_grad=True)
    (x * made).sum().backward()
    assert x.grad.tolist() == [1.375, 1.375]


def test_no_more_than_some_are_kept(monkeypatch):
    constant(1.5, CPU)
    monkeypatch.setattr(constants, "MOST", 0)
    assert constant(0.123, CPU) == 0.123
    assert number(constant(0.123, CPU)) is None
    assert number(constant(1.5, CPU)) == 1.5


def test_nothing_is_kept_within_transforms():
    found = torch.func.vmap(lambda x: x * constant(1.625, CPU))(torch.ones(3))
    assert found.tolist() == [1.625] * 3
    assert (1.625, CPU) not in constants._kept


@pytest.mark.filterwarnings("ignore")  # of torch.compile
def test_compiled_graphs_do_not_depend_on_the_kept_numbers():
    with pytest.raises(ValueError, match="alpha"):
        strukt.entmax(torch.zeros(3), float("nan"))
    compiled = torch.compile(lambda scores: strukt.entmax(scores, 1.25), fullgraph=True, backend="aot_eager")
    scores = torch.tensor([0.3, 0.1, -0.2])
    assert torch.equal(compiled(scores), strukt.entmax(scores, 1.25))
