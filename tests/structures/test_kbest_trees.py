"""The compiled searches for the k best structures find what the reference finds."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.kernels.test_backends import normal, single, unchanged
from torch import Tensor

from strukt.distributions import BitSpanTree, KSubset, ProjectiveTree, SpanTree
from strukt.kernels import dispatch
from strukt.kernels.cpu_kbest import (
    choice_of_value,
    make_search,
    offer,
    start,
    take,
)
from strukt.structures.distribution import StructuredDistribution

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

K = 40
Change = Callable[[Tensor], Tensor]


def lengths(n: int) -> Tensor:
    return torch.tensor([n, max(n - 1, 0), min(n, 1), 0, min(n, 2), n])


def spans(n: int, change: Change) -> SpanTree:
    return SpanTree(change(normal(6, n + 1, n + 1, 3)), lengths(n))


def spans_without_labels(n: int, change: Change) -> SpanTree:
    return SpanTree(change(normal(6, n + 1, n + 1)), lengths(n), labelled=False)


def codes(n: int, change: Change) -> BitSpanTree:
    positive, negative = (change(normal(6, n + 1, n + 1, 3, seed=seed)) for seed in (0, 1))
    return BitSpanTree(positive, lengths(n), negative=negative)


def single_root(n: int, change: Change) -> ProjectiveTree:
    return ProjectiveTree(change(normal(6, n, n + 1)), lengths(n), single_root=True)


def any_root(n: int, change: Change) -> ProjectiveTree:
    return ProjectiveTree(change(normal(6, n, n + 1)), lengths(n), single_root=False)


def subsets(n: int, change: Change) -> KSubset:
    return KSubset(change(normal(6, n)), torch.tensor([2, 0, 1, 0, 1, 3]).minimum(lengths(n)), lengths(n))


def steep(scores: Tensor) -> Tensor:
    return 1e6 * scores


def sparse(scores: Tensor) -> Tensor:
    return scores.masked_fill(scores < -0.8, -torch.inf)


def tied(scores: Tensor) -> Tensor:
    return scores.round()


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(
    ("change", "tolerance"),
    [(unchanged, 1e-10), (single, 1e-4), (steep, 1e-10), (sparse, 1e-10), (tied, 1e-10)],
)
@pytest.mark.parametrize("n", [1, 2, 3, 5, pytest.param(9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [spans, spans_without_labels, codes, single_root, any_root, subsets])
def test_the_k_best_of_any_size(on, poisoned_memory, kind, n, change, tolerance):
    structures = kind(n, change)
    on("reference")
    expected, _ = structures.topk(K)
    on("cpu")
    scores, events = structures.topk(K)
    assert torch.allclose(scores, expected, rtol=tolerance, atol=tolerance)
    found = structures.oracles.kbest(*structures._arguments(), K)[1]
    assert torch.allclose(found, scores, rtol=10 * tolerance, atol=tolerance)
    assert_distinct(structures, scores, events)


def assert_distinct(structures: StructuredDistribution, scores: Tensor, events: Tensor) -> None:
    """Events differ, are structures, and stop where the scores do."""
    counts = (scores > -torch.inf).sum(-1).tolist()
    for item, count in zip(events, counts, strict=True):
        assert len(item[:count].unique(dim=0)) == count
        assert (item[count:] == -1).all()
    firsts = events[:, 0]
    assert (structures.is_structure(firsts) | (scores[:, 0] == -torch.inf)).all()


@pytest.mark.parametrize("kind", [spans, codes, single_root, any_root, subsets])
def test_fewer_are_the_first_of_more(on, kind):
    on("cpu")
    structures = kind(7, unchanged)
    scores, events = structures.topk(K)
    for k in (1, 2, 11):
        few, first = structures.topk(k)
        assert torch.equal(few, scores[:, :k])
        assert torch.equal(first, events[:, :k])


@pytest.mark.parametrize("kind", [spans, codes, single_root, any_root, subsets])
def test_threads_do_not_change_the_k_best(on, four_threads, kind):
    on("cpu")
    structures = kind(33, unchanged)
    parallel = structures.topk(5)
    torch.set_num_threads(1)
    for several, one in zip(parallel, structures.topk(5), strict=True):
        assert torch.equal(several, one)


def test_a_search_takes_over_the_choices_of_the_parent():
    search = make_search(3, 2)
    for choice, score in enumerate([1.0, 3.0, 2.0]):
        offer(search.candidates, 0, 1, choice, score)
    search.choices[0] = [5, 6]
    assert take(search, 1) == (3.0, 1)
    assert search.choices[1].tolist() == [5, 1]
    assert search.candidates.waiting[0] == 1
    start(search, 4.0)
    assert take(search, 0) == (4.0, -1)
    assert take(search, 1)[0] == -np.inf


def test_given_choices_are_followed_and_others_made():
    search = make_search(3, 2)
    values = np.array([1.0, 4.0, -np.inf, 3.0])
    search.choices[0] = [3, 0]
    assert choice_of_value(search, 0, 0, 0, 10.0, values) == 3
    assert search.candidates.waiting[0] == 0
    assert choice_of_value(search, 0, 1, 0, 10.0, values) == 1
    assert search.candidates.waiting[0] == 2
    assert search.candidates.scores[:2].tolist() == [9.0, 7.0]
