"""Belief propagation over heads: exact on trees of pairs, stationary at fixed points, an estimate on loops."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.head_selection import Scores, batches, enumerated, random_scores, shortened

from strukt.inference.second_order import belief_propagation, mean_field
from strukt.inference.second_order.belief_propagation_heads import _log_sum_of_others


def only_between(scores: Scores, pairs: set[tuple[int, int]]) -> Scores:
    """No scores of pairs but those between these words."""
    kept = torch.zeros(len(scores.arcs), len(scores.arcs), 1, dtype=torch.bool)
    for m, k in pairs:
        kept[m, k] = kept[k, m] = True
    return Scores(scores.arcs, *(torch.where(kept, each, 0.0) for each in list(scores)[1:]))


TREES = [set(), {(0, 1)}, {(0, 1), (1, 2)}, {(0, 1), (0, 2), (0, 3)}, {(3, 1), (1, 2), (2, 0)}]


@pytest.mark.thinned("pairs", "scale", "damping")
@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("pairs", TREES, ids=str)
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_trees_of_pairs_are_exact(pairs, scale, damping):
    scores = only_between(random_scores(4, scale), pairs)
    found = belief_propagation(*scores, iterations=80 if damping else 5, damping=damping)
    exact, marginals = enumerated(scores)
    assert found.change < 1e-9
    assert torch.allclose(found.log_partition, exact)
    assert torch.allclose(found.marginals, marginals)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.6]), st.sampled_from([1.0, 30.0]))
def test_two_words_are_exact_whatever_is_forbidden(seed, share, scale):
    generator = torch.Generator().manual_seed(seed)
    scores = Scores(
        *(
            (scale * each).masked_fill(torch.rand(each.shape, generator=generator) < share, -math.inf)
            for each in random_scores(2, 1.0, seed)
        )
    )
    exact, marginals = enumerated(scores)
    found = belief_propagation(*scores)
    assert torch.allclose(found.log_partition, exact)
    assert torch.allclose(found.marginals, marginals)


@given(st.integers(0, 10**6), st.sampled_from([0.2, 0.5]))
def test_trees_of_pairs_with_excluded_pairs_are_exact(seed, share):
    generator = torch.Generator().manual_seed(seed)
    scores = random_scores(3, 1.0, seed)
    excluded = (torch.rand(each.shape, generator=generator) < share for each in list(scores)[1:])
    pairs = (each.masked_fill(mask, -math.inf) for each, mask in zip(list(scores)[1:], excluded, strict=True))
    scores = only_between(Scores(scores.arcs, *pairs), {(0, 1), (1, 2)})
    exact, marginals = enumerated(scores)
    found = belief_propagation(*scores, iterations=4)
    assert torch.allclose(found.log_partition, exact)
    assert torch.allclose(found.marginals, marginals)


@given(batches())
def test_nothing_possible_is_excluded(case):
    scores, lengths = case
    found = belief_propagation(*scores, lengths, iterations=6)
    for place in itertools.product(*map(range, lengths.shape)):
        length = lengths[place].item()
        exact, marginals = enumerated(shortened(scores[place], length))
        beliefs = found.log_marginals[place][:length, : length + 1]
        assert (beliefs[marginals > 0] > -math.inf).all()
        assert exact == -math.inf or found.log_partition[place] > -math.inf


@pytest.mark.parametrize("seed", range(2))
def test_weak_loops_are_better_than_mean_field(seed):
    scores = random_scores(4, 0.3, seed)
    exact, marginals = enumerated(scores)
    found, bound = (infer(*scores, iterations=60) for infer in (belief_propagation, mean_field))
    assert found.change < 1e-9
    assert abs(found.log_partition - exact) < 0.01
    assert abs(found.log_partition - exact) < abs(bound.lower_bound - exact)
    assert (found.marginals - marginals).abs().max() < (bound.marginals - marginals).abs().max()


def test_a_fixed_point_is_stationary():
    """Bethe's free energy depends on the scores through its beliefs only where these are its gradient."""
    arcs, siblings, grandparents = (each.requires_grad_() for each in random_scores(5, 0.6))
    found = belief_propagation(arcs, siblings, grandparents, iterations=150, damping=0.3)
    of_arcs, of_siblings, of_grandparents = torch.autograd.grad(
        found.log_partition, (arcs, siblings, grandparents)
    )
    assert torch.allclose(of_arcs, found.marginals)
    assert (of_siblings >= 0).all()
    cycles = found.marginals[:, 1:] - of_grandparents.sum(-1)  # two words, each the head of the other
    assert (cycles > -1e-9).all()
    assert torch.allclose(cycles, cycles.mT)


def test_damping_settles_what_oscillates():
    """Words that all avoid the head of the others."""
    siblings = torch.zeros(6, 6, 7, dtype=torch.float64)
    siblings[..., 0] = -3.0
    arcs = torch.zeros(6, 7, dtype=torch.float64)
    arcs[:, 0] = 5.0
    wild, calm = (
        belief_propagation(arcs, siblings, iterations=200, damping=damping) for damping in (0.0, 0.5)
    )
    assert calm.change < 1e-8 < wild.change


def test_what_excludes_all_heads_is_found_to_be_infeasible():
    """Two words that both have only the root as head, and exclude each other there."""
    rivals = torch.full((2, 2, 3), -math.inf)
    arcs = torch.full((2, 3), -math.inf)
    arcs[:, 0] = 0.0
    found = belief_propagation(arcs, rivals)
    assert found.log_partition == -math.inf
    assert (found.marginals == 0).all()
    assert found.change == 0


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3])
def test_sums_of_others_lose_nothing(n, scale):
    x = scale * random_scores(n).arcs
    x[0, 0] = -math.inf
    expected = torch.stack(
        [torch.stack([torch.cat([row[:i], row[i + 1 :]]).logsumexp(0) for i in range(n + 1)]) for row in x]
    )
    assert torch.allclose(_log_sum_of_others(x), expected, rtol=1e-13)


def test_single_precision_agrees_with_double():
    scores = random_scores(20, 0.5, seed=3)
    double = belief_propagation(*scores, iterations=5, damping=0.2)
    single = belief_propagation(*(each.float() for each in scores), iterations=5, damping=0.2)
    assert torch.allclose(single.marginals.double(), double.marginals, atol=1e-5)
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=1e-5)


@pytest.mark.parametrize("damping", [1.0, -0.1])
def test_damping_out_of_range_is_refused(damping):
    with pytest.raises(ValueError, match=f"damping is {damping}; expected a number from 0 to below 1"):
        belief_propagation(torch.zeros(2, 3), damping=damping)
