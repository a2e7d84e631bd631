"""Modes and marginals of perturbed scores."""

import pytest
import torch
from tests.mappings.test_sparsemax_entmax import normal

from strukt.distributions import LinearChain


def test_perturbed_modes_of_one_word_are_exact_samples():
    """With a single part, perturb-and-MAP is the Gumbel-max trick."""
    chain = LinearChain(normal(1, 4), torch.zeros(4, 4, dtype=torch.float64))
    torch.manual_seed(0)
    counts = torch.bincount(chain.perturb_and_map((20000,)).flatten(), minlength=4)
    assert torch.allclose(counts / 20000, chain.marginals[0].float(), atol=0.01)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda chain: chain.rsample_relaxed(0.0), "temperature is 0.0; expected a number above 0"),
        (lambda chain: chain.rsample_relaxed(torch.inf), "temperature is inf; .* finite"),
    ],
)
def test_wrong_arguments_are_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(LinearChain(normal(3, 2), normal(2, 2)))


@pytest.mark.parametrize("temperature", [1e-6, 1e-15, 5e-324, torch.tensor(1e-20)])
@pytest.mark.parametrize("shift", [-5.0, 5.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_temperatures_near_zero_relaxed_samples_are_perturbed_modes(temperature, shift, dtype):
    """Divided by such temperatures, scores would forbid parts or overflow."""
    unary = (normal(2, 5, 3).clamp(-1, 1) + shift).to(dtype).requires_grad_()
    chain = LinearChain(unary, normal(3, 3).to(dtype))
    torch.manual_seed(0)
    relaxed = chain.rsample_relaxed(temperature, (20,))
    torch.manual_seed(0)
    assert torch.allclose(relaxed, chain.to_parts(chain.perturb_and_map((20,))), atol=1e-3)
    assert torch.autograd.grad(relaxed[..., 0].sum(), unary)[0].isfinite().all()


def test_parts_stay_forbidden_and_others_permitted_at_low_temperatures():
    unary = torch.tensor([[-torch.inf, -1e10], [-1e10, -1e10]])
    relaxed = LinearChain(unary, torch.zeros(2, 2)).rsample_relaxed(1e-8)
    assert torch.equal(relaxed[0], torch.tensor([0.0, 1.0]))
    assert relaxed[1].sum() == 1.0
