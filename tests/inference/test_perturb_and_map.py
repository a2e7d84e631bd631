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


def test_relaxed_samples_lie_in_the_polytope():
    chain = LinearChain(normal(3, 5, 4), normal(4, 4), torch.tensor([5, 2, 0]))
    relaxed = chain.rsample_relaxed(0.7, (6,))
    assert relaxed.shape == (6, 3, 5, 4)
    totals = relaxed.sum(-1)
    within = torch.arange(5) < chain.lengths.unsqueeze(-1)
    assert torch.allclose(totals, within.double().expand_as(totals))


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
