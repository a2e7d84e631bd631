"""Mean field: a lower bound that grows with each sweep and is exact without pairs."""

import math

import pytest
import torch

from strukt import BinaryCRF
from strukt.inference.mean_field import mean_field


def model(n: int, scale: float = 1.0, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    given = scale * torch.randn(n, n, generator=generator, dtype=torch.float64).triu(1)
    return torch.randn(n, generator=generator, dtype=torch.float64), given + given.mT


def test_independent_variables_are_exact():
    unary, _ = model(5)
    found = mean_field(unary, torch.zeros(5, 5, dtype=torch.float64), 1)
    assert torch.allclose(found.marginals, unary.sigmoid())
    assert torch.allclose(found.lower_bound, torch.nn.functional.softplus(unary).sum())
    assert found.change == 0


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(5))
def test_each_sweep_raises_the_bound_which_stays_below_the_log_partition(scale, seed):
    unary, pairwise = model(9, scale, seed)
    bounds = torch.stack([mean_field(unary, pairwise, sweeps).lower_bound for sweeps in range(1, 12)])
    assert (bounds.diff() >= -1e-12).all()
    assert bounds[-1] <= BinaryCRF(unary, pairwise).log_partition + 1e-12


def test_the_bound_is_the_score_of_samples_and_their_entropy():
    unary, pairwise = model(6)
    found = mean_field(unary, pairwise, 50)
    events = BinaryCRF(unary, pairwise).enumerate_support()
    log_product = torch.where(events == 1, found.marginals.log(), (1 - found.marginals).log()).sum(-1)
    expected = (log_product.exp() * (BinaryCRF(unary, pairwise).score(events) - log_product)).sum()
    assert torch.allclose(found.lower_bound, expected)


def test_the_end_is_a_fixed_point_with_the_marginals_as_gradient():
    unary, pairwise = model(7, 0.5)
    leaf = unary.clone().requires_grad_()
    found = mean_field(leaf, pairwise, 300)
    assert found.change < 1e-12
    assert torch.allclose(found.marginals, (unary + pairwise @ found.marginals).sigmoid())
    (gradient,) = torch.autograd.grad(found.lower_bound, leaf)
    assert torch.allclose(gradient, found.marginals)


def test_derivatives_by_unrolling():
    unary, pairwise = (score.requires_grad_() for score in model(4))

    def both(unary: torch.Tensor, pairwise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = mean_field(unary, pairwise, 3)
        return found.marginals, found.lower_bound

    assert torch.autograd.gradcheck(both, (unary, pairwise))
    assert torch.autograd.gradgradcheck(both, (unary, pairwise))


def test_variables_that_exclude_each_other_are_never_both_one():
    unary = torch.tensor([1.0, 3.0, 2.0, -math.inf], requires_grad=True)
    pairwise = torch.full((4, 4), -math.inf).fill_diagonal_(0.0)
    found = mean_field(unary, pairwise, 5)
    assert (found.marginals > 0).sum() == 1
    assert found.marginals[3] == 0
    assert found.lower_bound <= torch.logsumexp(torch.tensor([0.0, 1.0, 3.0, 2.0]), 0)
    (gradient,) = torch.autograd.grad(found.lower_bound, unary)
    assert gradient.isfinite().all()


def test_items_of_a_batch_do_not_touch_each_other():
    models = [model(5, seed=seed) for seed in range(3)]
    together = mean_field(*(torch.stack(each) for each in zip(*models, strict=True)), 8)
    for item, (unary, pairwise) in enumerate(models):
        alone = mean_field(unary, pairwise, 8)
        assert torch.allclose(together.marginals[item], alone.marginals)
        assert torch.allclose(together.lower_bound[item], alone.lower_bound)


def test_the_method_knows_lengths_padding_and_requirements():
    unary, pairwise = model(6)
    padded = torch.full((2, 6), math.nan, dtype=torch.float64)
    padded[0], padded[1, :4] = unary, unary[:4]
    crf = BinaryCRF(padded, pairwise, torch.tensor([6, 4]))
    found = crf.mean_field(30)
    short = mean_field(unary[:4], pairwise[:4, :4], 30)
    assert torch.allclose(found.marginals[1, :4], short.marginals)
    assert (found.marginals[1, 4:] == 0).all()
    assert torch.allclose(found.lower_bound[1], short.lower_bound)
    first = torch.zeros(2, 6, dtype=torch.bool)
    first[:, 0] = True
    given = crf.condition(required=first)
    bound = given.mean_field(30)
    assert (bound.marginals[:, 0] == 1).all()
    assert (bound.lower_bound <= given.log_partition).all()
    rest = mean_field(unary[1:] + pairwise[0, 1:], pairwise[1:, 1:], 30)
    assert torch.allclose(bound.lower_bound[0], rest.lower_bound + unary[0])


def test_many_variables():
    unary, pairwise = model(60, 0.05)
    found = BinaryCRF(unary, pairwise).mean_field()
    assert found.change < 1e-6
    assert found.lower_bound > torch.nn.functional.softplus(unary).sum() - 10


def test_an_infeasible_condition_has_the_bound_minus_infinity():
    crf = BinaryCRF(torch.zeros(2), torch.full((2, 2), -math.inf))
    both = crf.condition(required=torch.ones(2, dtype=torch.bool))
    assert both.mean_field().lower_bound == both.log_partition == -math.inf


def test_no_iterations_are_refused():
    with pytest.raises(ValueError, match="iterations is 0; expected at least 1"):
        mean_field(torch.zeros(2), torch.zeros(2, 2), 0)
