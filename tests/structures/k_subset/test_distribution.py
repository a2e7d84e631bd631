"""Subsets of items: sizes, scores of omission, known values, long and extreme inputs, messages."""

import itertools
import math

import pytest
import torch
from tests.scores import normal
from torch.distributions import kl_divergence

from strukt import KSubset
from strukt.errors import InfeasibleError
from strukt.testing import brute_force


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", request.param)


@pytest.mark.parametrize(("n", "k"), [(1, 0), (1, 1), (5, 2), (64, 64), (65, 30), (1000, 7), (2000, 1999)])
def test_the_number_of_subsets_is_a_binomial_coefficient(n, k):
    found = KSubset(torch.zeros(n, dtype=torch.float64), k).log_count
    assert math.isclose(found, math.log(math.comb(n, k)), rel_tol=1e-12, abs_tol=1e-11)


def test_without_bounds_items_are_independent():
    scores = normal(12)
    free = KSubset(scores, (0, 12))
    assert torch.allclose(free.marginals, scores.sigmoid())
    assert torch.allclose(free.log_partition, torch.nn.functional.softplus(scores).sum())
    coins = torch.distributions.Bernoulli(logits=scores)
    assert torch.allclose(free.entropy(), coins.entropy().sum())


def test_sizes_differ_from_item_to_item():
    scores = normal(3, 5)
    low, high = torch.tensor([0, 2, 5]), torch.tensor([1, 4, 5])
    together = KSubset(scores, (low, high))
    assert torch.equal(together.low, low)
    assert torch.equal(together.high, high)
    for i in range(3):
        alone = KSubset(scores[i], (int(low[i]), int(high[i])))
        assert torch.allclose(together.log_partition[i], alone.log_partition)
        assert torch.allclose(together.entropy()[i], alone.entropy())
        assert torch.allclose(together.max_marginals[i], alone.max_marginals)
    sizes = together.sample((50,)).sum(-1)
    assert ((sizes >= low) & (sizes <= high)).all()


def test_a_size_above_the_length_has_no_subset():
    subsets = KSubset(normal(3, 4), 3, lengths=torch.tensor([4, 2, 3]))
    assert subsets.log_partition.isfinite().tolist() == [True, False, True]
    assert (subsets.marginals[1] == 0).all()
    with pytest.raises(InfeasibleError, match="batch item 1"):
        _ = subsets.mode
    with pytest.raises(InfeasibleError, match="batch item 1"):
        subsets.sample()


def test_length_zero_holds_the_empty_subset_or_none():
    scores = torch.full((2, 3), torch.nan)
    subsets = KSubset(scores, (torch.tensor([0, 1]), torch.tensor([2, 2])), lengths=torch.tensor([0, 0]))
    assert subsets.log_partition.tolist() == [0, -math.inf]
    assert subsets.topk(2)[0].tolist() == [[0, -math.inf], [-math.inf, -math.inf]]


def test_no_item_at_all_may_be_asked_for():
    nothing = KSubset(normal(5), 0)
    assert nothing.log_partition == 0
    assert nothing.mode.tolist() == nothing.marginals.tolist() == [0] * 5
    assert (nothing.max_marginals == -math.inf).all()


@pytest.mark.parametrize("sizes", [(0, 5), (1, 3), (2, 2), (5, 5)])
@pytest.mark.parametrize("seed", range(2))
def test_scores_of_omission_against_enumeration(sizes, seed):
    """With forbidden and required items and ties, drawn anew for each seed."""
    scores, omitted = normal(5, seed=seed).round(), normal(5, seed=seed + 100).round()
    scores, omitted = scores.masked_fill(scores < -1, -math.inf), omitted.masked_fill(omitted > 1, -math.inf)
    table = brute_force.k_subset(5, scores, omitted, low=sizes[0], high=sizes[1])
    subsets = KSubset(scores, sizes, omitted=omitted)
    assert torch.allclose(subsets.log_partition, table.log_partition)
    assert torch.allclose(subsets.marginals, table.marginals)
    assert torch.allclose(subsets.max_marginals, table.max_marginals)
    assert torch.allclose(subsets.max_score, table.max_score)
    assert torch.allclose(subsets.topk(4)[0], table.topk(4)[0])
    assert torch.allclose(subsets.log_count, table.log_count)


def test_items_required_and_forbidden():
    required, forbidden = torch.tensor([True, False, False, False]), torch.tensor([False, False, True, False])
    subsets = KSubset(torch.zeros(4), 2).condition(required, forbidden)
    assert subsets.marginals.tolist() == pytest.approx([1, 0.5, 0, 0.5])
    assert subsets.marginals[2] == 0
    both = KSubset(torch.zeros(4), 2).condition(required, required)
    assert both.log_partition == -math.inf
    three = torch.tensor([True, True, True, False])
    assert KSubset(torch.zeros(4), 2).condition(required=three).log_partition == -math.inf
    assert (KSubset(torch.zeros(4), 2).condition(required=three).max_marginals == -math.inf).all()


def test_other_sizes_are_other_structures():
    with pytest.raises(ValueError, match="the smallest size"):
        kl_divergence(KSubset(normal(4), 2), KSubset(normal(4), (1, 2)))


def test_long_input_in_single_precision():
    """The bounds are ten times the errors that were measured."""
    for scale, offset, bound in ((5.0, 0.0, 2e-5), (1.0, 100.0, 3e-5)):
        scores = (offset + scale * normal(10_000)).float()
        single, double = KSubset(scores, 50), KSubset(scores.double(), 50)
        assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=1e-6)
        assert (single.marginals - double.marginals).abs().max() < bound
        assert torch.equal(single.mode, double.mode)


def test_extreme_scores():
    scores = torch.tensor([1e4, -1e4, 0.0, 1e4, -1e4, 0.0], dtype=torch.float64)
    subsets = KSubset(scores, 3)
    assert torch.allclose(subsets.log_partition, torch.tensor(2e4, dtype=torch.float64) + math.log(2))
    assert torch.allclose(subsets.marginals, torch.tensor([1, 0, 0.5, 1, 0, 0.5], dtype=torch.float64))
    assert subsets.entropy() == pytest.approx(math.log(2))
    five = KSubset(scores, 5)
    assert torch.allclose(five.marginals, torch.tensor([1, 0.5, 1, 1, 0.5, 1], dtype=torch.float64))
    assert set(map(tuple, five.sample((50,)).tolist())) == {(1, 1, 1, 1, 0, 1), (1, 0, 1, 1, 1, 1)}


def test_samples_of_a_long_input_have_the_marginals():
    scores = 2 * normal(100)
    subsets = KSubset(scores, (10, 12))
    torch.manual_seed(0)
    frequencies = subsets.sample((1000,)).double().mean(0)
    assert (frequencies - subsets.marginals).abs().max() < 5 * 0.5 / math.sqrt(1000)


def test_support_is_enumerated_in_order_of_counting():
    listed = KSubset(torch.zeros(4), (1, 2)).enumerate_support()
    expected = [event for event in itertools.product((0, 1), repeat=4) if 1 <= sum(event) <= 2]
    assert listed.tolist() == [list(event) for event in expected]
    with pytest.raises(ValueError, match="too many to enumerate"):
        KSubset(torch.zeros(30), 2).enumerate_support()


@pytest.mark.parametrize("k", [-1, 10**30, 1.5, True, None, torch.tensor(2.0), torch.arange(3), (1, -2), [1, 2]])
def test_wrong_sizes_are_refused(k):
    with pytest.raises(
        ValueError, match=r"k is .*expected a non-negative integer, or a LongTensor of shape \(2,\).* tuple of two"
    ):
        KSubset(torch.zeros(2, 4), k)


def test_sizes_out_of_order_are_refused():
    with pytest.raises(
        ValueError, match="k allows sizes from 3 to 1 for batch item 0, 1; expected 0 <= smallest"
    ):
        KSubset(torch.zeros(2, 4), (3, 1))
    with pytest.raises(ValueError, match="k allows sizes from -1 to -1 for batch item 1"):
        KSubset(torch.zeros(2, 4), torch.tensor([0, -1]))


def test_events_of_a_wrong_size_are_refused():
    pairs = KSubset(torch.zeros(3), 2)
    with pytest.raises(ValueError, match=r"the event \[1, 0, 0\] is not a structure of KSubset"):
        pairs.log_prob(torch.tensor([1, 0, 0]))
    with pytest.raises(ValueError, match=r"the event \[2, 0, 0\] is not made of 0 and 1"):
        pairs.to_parts(torch.tensor([2, 0, 0]))
    with pytest.raises(ValueError, match=r"the event \[1, 0, 2\] at index \(1, 0\) is not made of 0 and 1"):
        KSubset(torch.zeros(2, 3), 2).to_parts(torch.tensor([[[1, 1, 0], [0, 1, 1]], [[1, 0, 2], [2, 0, 0]]]))
    assert pairs.to_parts(torch.tensor([1, 0, 0])).tolist() == [1, 0, 0]


def test_omission_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"omitted has shape \(3,\).*expected the same shape, or \(4,\)"):
        KSubset(torch.zeros(2, 4), 2, omitted=torch.zeros(3))
    with pytest.raises(ValueError, match="omitted has dtype"):
        KSubset(torch.zeros(2, 4), 2, omitted=torch.zeros(4, dtype=torch.long))
    with pytest.raises(ValueError, match="omitted holds inf at batch item 1"):
        KSubset(torch.zeros(2, 1), 1, omitted=torch.tensor([[0.0], [math.inf]]))
