"""Modes and marginals of perturbed scores."""

import pytest
import torch

from strukt.distributions import LinearChain


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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
