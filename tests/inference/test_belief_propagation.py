"""Belief propagation: exact on trees, stationary at fixed points, an estimate on loops."""

import math

import pytest
import torch

from strukt import BinaryCRF
from strukt.inference.belief_propagation import belief_propagation


def tree(n: int, scale: float = 2.0, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Random scores of a random tree."""
    generator = torch.Generator().manual_seed(seed)
    pairwise = torch.zeros(n, n, dtype=torch.float64)
    for i in range(1, n):
        above = int(torch.randint(i, (1,), generator=generator))
        value = scale * torch.randn((), generator=generator, dtype=torch.float64)
        pairwise[i, above] = pairwise[above, i] = value
    return torch.randn(n, generator=generator, dtype=torch.float64), pairwise


def loops(n: int, scale: float, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    given = scale * torch.randn(n, n, generator=generator, dtype=torch.float64).triu(1)
    return torch.randn(n, generator=generator, dtype=torch.float64), given + given.mT


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 13])
def test_trees_are_exact(n, damping):
    unary, pairwise = tree(n)
    found = belief_propagation(unary, pairwise, 80 if damping else n + 1, damping)
    exact = BinaryCRF(unary, pairwise)
    assert found.change < 1e-9
    assert torch.allclose(found.log_partition, exact.log_partition)
    assert torch.allclose(found.marginals, exact.marginals)
    related = (pairwise != 0) | torch.eye(n, dtype=torch.bool)
    assert torch.allclose(found.pairwise_marginals[related], exact.pairwise_marginals[related])
    product = found.marginals.unsqueeze(-1) * found.marginals
    assert torch.allclose(found.pairwise_marginals[~related], product[~related])


def test_trees_with_pairs_that_exclude_each_other_are_exact():
    """Independent sets of a path, of which there are Fibonacci numbers."""
    pairwise = torch.diag(torch.full((9,), -math.inf), 1).nan_to_num(0.0, neginf=-math.inf)
    unary = torch.zeros(10, requires_grad=True)
    found = belief_propagation(unary, pairwise + pairwise.mT, 12, 0.0)
    assert found.log_partition.exp().item() == pytest.approx(144, rel=1e-4)
    (gradient,) = torch.autograd.grad(found.log_partition, unary)
    assert torch.allclose(gradient, found.marginals, atol=1e-5)
    assert (found.pairwise_marginals.diagonal(1) == 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_weak_loops_are_nearly_exact_and_better_than_mean_field(seed):
    unary, pairwise = loops(8, 0.3, seed)
    crf = BinaryCRF(unary, pairwise)
    found, bound = crf.belief_propagation(), crf.mean_field()
    exact = crf.log_partition
    assert found.change < 1e-9
    assert abs(found.log_partition - exact) < 0.02
    assert abs(found.log_partition - exact) < abs(bound.lower_bound - exact)
    assert torch.allclose(found.marginals, crf.marginals, atol=0.02)


def test_a_fixed_point_is_stationary():
    """Bethe's free energy depends on the scores through its beliefs only where these are its gradient."""
    unary, pairwise = (score.requires_grad_() for score in loops(7, 0.6))
    found = belief_propagation(unary, pairwise, 300, 0.3)
    gradient, of_pairs = torch.autograd.grad(found.log_partition, (unary, pairwise))
    assert torch.allclose(gradient, found.marginals)
    others = ~torch.eye(7, dtype=torch.bool)
    assert torch.allclose(of_pairs[others], 0.5 * found.pairwise_marginals[others])


def test_derivatives_by_unrolling():
    unary, pairwise = (score.requires_grad_() for score in loops(4, 1.0))

    def answers(unary: torch.Tensor, pairwise: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = belief_propagation(unary, pairwise, 4, 0.25)
        return found.marginals, found.pairwise_marginals, found.log_partition

    assert torch.autograd.gradcheck(answers, (unary, pairwise))
    assert torch.autograd.gradgradcheck(answers, (unary, pairwise))


def test_damping_settles_what_oscillates():
    """Strong repulsion between all variables."""
    n = 8
    pairwise = -3.0 * (1 - torch.eye(n, dtype=torch.float64))
    unary = torch.ones(n, dtype=torch.float64)
    wild, calm = (belief_propagation(unary, pairwise, 200, damping) for damping in (0.0, 0.5))
    assert calm.change < 1e-8 < wild.change


def test_the_method_knows_lengths_padding_and_requirements():
    unary, pairwise = tree(6)
    padded = torch.full((2, 6), math.nan, dtype=torch.float64)
    padded[0], padded[1, :4] = unary, unary[:4]
    crf = BinaryCRF(padded, pairwise, torch.tensor([6, 4]))
    required = torch.zeros(2, 6, dtype=torch.bool)
    required[:, 2] = True
    for model in (crf, crf.condition(required=required)):
        found = model.belief_propagation()
        assert torch.allclose(found.log_partition, model.log_partition)
        assert torch.allclose(found.marginals, model.marginals)
        assert (found.pairwise_marginals[1, 4:] == 0).all()
        row = found.pairwise_marginals[:, 2]
        assert torch.allclose(row, model.pairwise_marginals[:, 2]) or model is crf


def test_extreme_scores_are_finite():
    unary, pairwise = tree(6, scale=1e4)
    found = belief_propagation(1e4 * unary, pairwise, 60, 0.0)
    exact = BinaryCRF(1e4 * unary, pairwise)
    assert torch.allclose(found.log_partition, exact.log_partition)
    assert torch.allclose(found.marginals, exact.marginals)


@pytest.mark.parametrize(
    ("iterations", "damping", "message"),
    [
        (0, 0.5, "iterations is 0; expected at least 1"),
        (5, 1.0, "damping is 1.0"),
        (5, -0.1, "from 0 to below 1"),
    ],
)
def test_settings_out_of_range_are_refused(iterations, damping, message):
    with pytest.raises(ValueError, match=message):
        belief_propagation(torch.zeros(2), torch.zeros(2, 2), iterations, damping)
