"""Mean field over heads: a bound below the log-partition that coordinate ascent never lowers."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.head_selection import (
    Scores,
    batches,
    choices,
    enumerated,
    random_scores,
    score,
    shortened,
)

from strukt.inference.second_order import mean_field


@given(batches(), st.integers(1, 6), st.sampled_from([None, 1, 2]))
def test_the_bound_is_below_the_log_partition(case, iterations, together):
    scores, lengths = case
    bounds = mean_field(*scores, lengths, iterations=iterations, together=together).lower_bound
    for place in itertools.product(*map(range, lengths.shape)):
        exact, _ = enumerated(shortened(scores[place], lengths[place]))
        assert bounds[place] <= exact + 1e-9 * abs(exact) + 1e-9 or bounds[place] == -math.inf


@pytest.mark.thinned("seed", "scale")
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_choosing_one_after_another_never_lowers_the_bound(scale, seed):
    scores = random_scores(8, scale, seed)
    bounds = [mean_field(*scores, iterations=steps, together=1).lower_bound for steps in range(1, 15)]
    start = mean_field(scores.arcs).marginals
    assert (torch.stack(bounds).diff() >= -1e-10).all()
    assert bounds[0] > bound_by_definition(scores, start)


def bound_by_definition(scores, marginals: torch.Tensor) -> torch.Tensor:
    """Expected score and entropy of a product, arc by arc and pair by pair."""
    n = len(marginals)
    used = marginals > 0
    total = (marginals[used] * (scores.arcs[used] - marginals[used].log())).sum()
    for m, k in itertools.permutations(range(n), 2):
        for h in set(range(n + 1)) - {m + 1, k + 1}:
            total = total + 0.5 * marginals[m, h] * marginals[k, h] * scores.siblings[m, k, h]
            total = total + marginals[m, k + 1] * marginals[k, h] * scores.grandparents[m, k, h]
    return total


@pytest.mark.parametrize("together", [None, 1])
def test_the_bound_is_the_score_of_samples_and_their_entropy(together):
    scores = random_scores(4)
    found = mean_field(*scores, together=together)
    expected = 0.0
    for heads in choices(4):
        log_probability = sum(found.log_marginals[m, h].item() for m, h in enumerate(heads))
        expected += math.exp(log_probability) * (score(scores, heads) - log_probability)
    assert found.lower_bound.item() == pytest.approx(expected)
    assert torch.allclose(found.lower_bound, bound_by_definition(scores, found.marginals))


@pytest.mark.parametrize("together", [None, 1, 3])
def test_the_end_is_a_fixed_point_with_the_marginals_as_gradient(together):
    scores = random_scores(6, 0.5)
    leaf = scores.arcs.clone().requires_grad_()
    found = mean_field(leaf, *list(scores)[1:], iterations=200, together=together)
    assert found.change < 1e-12
    (gradient,) = torch.autograd.grad(found.lower_bound, leaf)
    assert torch.allclose(gradient, found.marginals)
    again = mean_field(found.log_marginals.detach(), iterations=1).marginals
    assert torch.allclose(again, found.marginals)


def test_one_step_by_hand():
    """Two words that repel each other below the root, as in the update that the module states."""
    arcs = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]], dtype=torch.float64)
    siblings, grandparents = (torch.zeros(2, 2, 3, dtype=torch.float64) for _ in range(2))
    siblings[0, 1, 0] = siblings[1, 0, 0] = -2.0
    grandparents[1, 0, 0] = 3.0  # word 2 below word 1 below the root
    first, second = torch.tensor([1.0, 0.5], dtype=torch.float64).sigmoid()
    found = mean_field(arcs, siblings, grandparents, iterations=1)
    one = 1.0 - 2.0 * second + 3.0 * (1 - second)  # the root for word 1, less word 2 as its head
    two = 0.5 - 2.0 * first - 3.0 * first
    assert torch.allclose(found.marginals[0, 0], one.sigmoid())
    assert torch.allclose(found.marginals[1, 0], two.sigmoid())


@pytest.mark.parametrize("together", [2, 7, 50])
def test_any_number_of_words_may_choose_at_once(together):
    scores = random_scores(7, 0.3)
    found = mean_field(*scores, iterations=100, together=together)
    assert torch.allclose(found.marginals, mean_field(*scores, iterations=100).marginals)


def test_strong_pairs_swing_unless_words_choose_one_after_another():
    """Words that all avoid the head of the others."""
    siblings = torch.zeros(6, 6, 7)
    siblings[..., 0] = -20.0
    arcs = torch.zeros(6, 7)
    arcs[:, 0] = 15.0
    assert mean_field(arcs, siblings, iterations=50).change > 1
    assert mean_field(arcs, siblings, iterations=50, together=1).change < 1e-4


def test_excluded_pairs_are_avoided_one_after_another():
    rivals = torch.zeros(4, 4, 5)
    rivals[..., 0] = -math.inf
    found = mean_field(torch.zeros(4, 5), rivals, together=1)
    assert (found.marginals[:, 0] > 0).sum() == 1
    exact, _ = enumerated(Scores(torch.zeros(4, 5), rivals, torch.zeros(4, 4, 5)))
    assert -math.inf < found.lower_bound <= exact


def test_the_bound_is_minus_infinity_where_excluded_pairs_remain():
    only_root = torch.full((2, 3), -math.inf)
    only_root[:, 0] = 0.0
    rivals = torch.zeros(2, 2, 3)
    rivals[..., 0] = -math.inf
    assert mean_field(only_root, rivals, together=1).lower_bound == -math.inf


def test_no_words_at_once_are_refused():
    with pytest.raises(ValueError, match="together is 0; expected at least 1 word"):
        mean_field(torch.zeros(2, 3), together=0)
