"""The k best structures by deviations are those of the reference: their scores, and events that have them."""

from collections.abc import Callable

import pytest
import torch
from tests.kernels.test_backends import LENGTHS, lengths, normal, single, sparse, steep, unchanged, uneven
from torch import Tensor

from strukt.distributions import CTC, CheckpointedChain, LinearChain, MonotoneAlignment, SemiMarkov
from strukt.kernels import dispatch
from strukt.structures.distribution import StructuredDistribution

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

BATCH = len(LENGTHS)
Change = Callable[[Tensor], Tensor]


def tied(scores: Tensor) -> Tensor:
    """Many structures of one score."""
    return scores.round()


def level(scores: Tensor) -> Tensor:
    """All structures of one score."""
    return torch.zeros_like(scores)


CHANGES = [(unchanged, 1e-9), (single, 1e-4), (steep, 1e-8), (sparse, 1e-9), (uneven, 1e-8), (tied, 1e-9)]
CHANGES += [(level, 1e-9)]


def chain(n: int, change: Change) -> StructuredDistribution:
    return LinearChain(change(normal(BATCH, n, 3)), change(normal(3, 3, seed=1)), lengths(n))


def chain_by_step(n: int, change: Change) -> StructuredDistribution:
    return LinearChain(change(normal(BATCH, n, 2)), change(normal(BATCH, n - 1, 2, 2, seed=1)), lengths(n))


def checkpointed(n: int, change: Change) -> StructuredDistribution:
    return CheckpointedChain(change(normal(BATCH, n, 3)), change(normal(3, 3, seed=1)), lengths(n))


def segments(n: int, change: Change) -> StructuredDistribution:
    return SemiMarkov(change(normal(BATCH, n, 4, 3)), change(normal(BATCH, 3, 3, seed=1)), lengths(n))


def segments_without_transitions(n: int, change: Change) -> StructuredDistribution:
    return SemiMarkov(change(normal(BATCH, n, 2, 2)), lengths=lengths(n))


def frames(n: int, change: Change) -> StructuredDistribution:
    """Targets with repeats, a blank target, targets longer than the frames."""
    targets = torch.tensor([[1, 1, 2], [2, 1, 1], [1, 2, 0], [2, 2, 2], [1, 2, 1]])
    sizes = torch.tensor([3, 0, 1, 1, 3])
    return CTC(change(normal(BATCH, n, 3)), targets, lengths(n), sizes)


def grid(n: int, change: Change) -> StructuredDistribution:
    scores = (change(normal(BATCH, n, 4, seed=seed)) for seed in range(3))
    return MonotoneAlignment(
        *scores,
        lengths=lengths(n),
        target_lengths=torch.tensor([4, 0, 1, 3, 2]),
        transition=normal(3, 3, seed=4),
    )


def wide_grid(n: int, change: Change) -> StructuredDistribution:
    return MonotoneAlignment(*(change(normal(BATCH, 3, n, seed=seed)) for seed in range(3)))


KINDS = [
    chain,
    chain_by_step,
    checkpointed,
    segments,
    segments_without_transitions,
    frames,
    grid,
    wide_grid,
]


def kbest(on, backend: str, distribution: StructuredDistribution, k: int) -> tuple[Tensor, Tensor]:
    on(backend)
    return distribution.oracles.kbest(*distribution._arguments(), k)


def assert_events_have_scores(
    distribution: StructuredDistribution, events: Tensor, scores: Tensor, tolerance: float
) -> None:
    """The events are structures, all different, of the scores given; -1 where there is none."""
    real = scores > -torch.inf
    assert (events[~real] == -1).all()
    for b in range(len(events)):
        found = events[b][real[b]]
        assert len(found.unique(dim=0)) == len(found)
        wanted = scores[b][real[b]]
        for event, score in zip(found, wanted, strict=True):
            everywhere = events[:, 0].clone()
            everywhere[b] = event
            assert distribution.is_structure(everywhere)[b]
            actual = distribution._score(everywhere)[b]
            assert torch.allclose(actual, score, rtol=tolerance, atol=tolerance)


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (31, 33))])
@pytest.mark.parametrize("kind", KINDS)
def test_the_k_best_are_those_of_the_reference(on, poisoned_memory, kind, n, change, tolerance):
    distribution = kind(n, change)
    for k in (1, 2, 7):
        _, expected = kbest(on, "reference", distribution, k)
        events, scores = kbest(on, "cpu", distribution, k)
        assert scores.dtype == expected.dtype
        assert torch.allclose(scores, expected, rtol=tolerance, atol=tolerance)
    assert_events_have_scores(distribution, events, scores, tolerance)


@pytest.mark.thinned("kind", "change")
@pytest.mark.parametrize("change", [unchanged, sparse, tied, level])
@pytest.mark.parametrize("kind", KINDS)
def test_more_than_there_are(on, poisoned_memory, kind, change):
    """All structures of short items come, each once."""
    distribution = kind(3, change)
    _, expected = kbest(on, "reference", distribution, 100)
    events, scores = kbest(on, "cpu", distribution, 100)
    assert torch.allclose(scores, expected, rtol=1e-9, atol=1e-9)
    counts = (scores > -torch.inf).sum(1)
    assert (counts < 100).all()
    assert torch.allclose(distribution.log_count.exp().round().long(), counts)
    assert_events_have_scores(distribution, events, scores, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_the_k_best(on, four_threads, kind):
    """Eighty copies of a batch are enough work for a pool."""
    distribution = kind(33, unchanged).expand((80, BATCH))
    events, scores = kbest(on, "cpu", distribution, 5)
    torch.set_num_threads(1)
    again, same = kbest(on, "cpu", distribution, 5)
    assert torch.equal(events, again)
    assert torch.equal(scores, same)
