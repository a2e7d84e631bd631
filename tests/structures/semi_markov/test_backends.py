"""The fused kernels of semi-Markov chains say what the reference says, whether probabilities underflow or not."""

from collections.abc import Callable

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference
from tests.kernels.test_backends import CHANGES, LENGTHS, assert_backends_agree, lengths, normal, unchanged
from torch import Tensor

from strukt.distributions import SemiMarkov
from strukt.kernels import dispatch

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

KINDS = ("none", "one number", "shared", "per item", "per position", "one number per position")
Built = tuple[SemiMarkov, tuple[Tensor, ...]]


def build(kind: str, n: int, k: int, c: int, change: Callable[[Tensor], Tensor]) -> Callable[[], Built]:
    steps = max(n - 1, 0)
    shapes = {
        "none": [],
        "one number": [(1, 1)],
        "shared": [(c, c)],
        "per item": [(len(LENGTHS), c, c)],
        "per position": [(len(LENGTHS), steps, c, c)],
        "one number per position": [(1, steps, 1, 1)],
    }

    def fresh() -> Built:
        scores = [normal(len(LENGTHS), n, k, c), *(normal(*shape, seed=1) for shape in shapes[kind])]
        leaves = tuple(change(score).requires_grad_() for score in scores)
        return SemiMarkov(leaves[0], *leaves[1:], lengths=lengths(n)), leaves

    return fresh


def states(segments: Tensor, transition: Tensor, each: Tensor) -> list[float]:
    """For each item 1 for plain numbers, 2 where these underflow, 0 where there is no segmentation."""
    from strukt.structures.semi_markov import cpu

    _, chart = cpu.inside(segments, transition, each)
    return chart[:, 0].tolist()


@pytest.mark.thinned("c", "change", "kind")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("c", [1, 2, 3, 31, 33, 65])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_labels(on, poisoned_memory, kind, c, change, tolerance):
    assert_backends_agree(on, build(kind, 6, 3, c, change), tolerance)


@pytest.mark.thinned("n", "k", "kind")
@pytest.mark.parametrize("k", [1, 2, 3, 31, 65])
@pytest.mark.parametrize("n", [1, 2, 3, 33, 65])
@pytest.mark.parametrize("kind", ["none", "shared", "per position"])
def test_any_length_and_any_duration(on, poisoned_memory, kind, n, k):
    assert_backends_agree(on, build(kind, n, k, 3, unchanged), 1e-10)


@pytest.mark.thinned("change", "kind")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_segments_longer_than_the_sequence(on, poisoned_memory, kind, change, tolerance):
    assert_backends_agree(on, build(kind, 4, 9, 3, change), tolerance)


@pytest.mark.parametrize("batch", [1, 7, 8, 19])
def test_any_batch_on_four_threads(on, poisoned_memory, four_threads, batch):
    each = torch.randint(36, (batch,), generator=torch.Generator().manual_seed(batch))

    def fresh() -> Built:
        leaves = normal(batch, 35, 6, 9).requires_grad_(), normal(9, 9, seed=1).requires_grad_()
        return SemiMarkov(*leaves, each), leaves

    assert_backends_agree(on, fresh, 1e-10)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_items_that_share_a_matrix_in_groups(on, four_threads, groups):
    """As `torch.func.vmap` makes them."""
    given = normal(6, 40, 5, 8), normal(groups, 8, 8, seed=1), torch.tensor([40, 3, 0, 40, 17, 40])
    assert_kernels_answer_as_the_reference(on, lambda: SemiMarkov.oracles.marginals(*given), 1e-10)


# Where plain numbers hold.


def compare(on, segments: Tensor, transition: Tensor, each: Tensor, tolerance: float = 1e-9) -> None:
    """Log-partition, marginals, expected transitions and best score by both backends."""

    def answers() -> tuple[Tensor, ...]:
        d = SemiMarkov(segments, transition, each)
        return d.log_partition, d.marginals, d.transition_marginals, d.max_score

    assert_kernels_answer_as_the_reference(on, answers, tolerance)


def test_ordinary_scores_do_not_underflow(on):
    """Large ones, too, if they grow with the duration: only differences at a position count."""
    each = torch.tensor([50, 20, 1])
    segments = normal(3, 50, 6, 4) + 1000 * torch.arange(1, 7, dtype=torch.float64)[:, None]
    transition = normal(1, 4, 4, seed=1)
    assert states(segments, transition, each) == [1, 1, 1]
    compare(on, segments, transition[0], each)


def test_a_segment_that_hardly_counts_may_vanish(on):
    """Long segments a thousand nats worse: no label is lost, for short ones lead to the same."""
    segments = normal(2, 30, 3, 4)
    segments[:, :, 2] -= 1000
    transition, each = normal(1, 4, 4, seed=1), torch.tensor([30, 7])
    assert states(segments, transition, each) == [1, 1]
    compare(on, segments, transition[0], each)


def test_a_label_that_is_unlikely_and_then_the_only_one_is_not_lost(on):
    segments, each = normal(2, 30, 3, 4), torch.tensor([30, 30])
    segments[0, :15, :, 3] -= 900  # a label far below the others ...
    never = torch.full((4, 4), -torch.inf, dtype=torch.float64).fill_diagonal_(0.0)  # ... all the way
    segments[0, 15:, :, :3] = -torch.inf  # ... and the only one later
    assert states(segments, never[None], each) == [2, 1]
    compare(on, segments, never, each)


@pytest.mark.parametrize("penalty", [200, 300, 900])
def test_unlikely_transitions(on, penalty):
    """Weights from 1e-100 on are plain numbers, smaller ones would underflow."""
    segments, each = normal(2, 30, 3, 4), torch.tensor([30, 9])
    transition = normal(1, 4, 4, seed=1)
    transition[0, 1, 2] -= penalty
    assert states(segments, transition, each) == ([1, 1] if penalty == 200 else [2, 2])
    compare(on, segments, transition[0], each)


NEVER = -torch.inf


def test_a_large_weight_where_almost_nothing_arrives_is_lost(on):
    """Weights are relative to the largest, so that those that matter would be too small."""
    segments, each = normal(1, 12, 2, 2), torch.tensor([12])
    transition = torch.tensor([[[0.0, NEVER], [0.0, -200.0]]], dtype=torch.float64)
    segments[0, 0, :, 1] -= 200
    segments[0, 1:, :, 1] = NEVER
    assert states(segments, transition, each) == [1]
    segments[0, 1, 0, 1] = 450
    assert states(segments, transition, each) == [2]
    compare(on, segments, transition[0], each)


def test_a_large_weight_where_nothing_arrives_is_left_out(on):
    segments, each = normal(1, 12, 2, 2), torch.tensor([12])
    segments[0, 0, :, 1] = NEVER
    segments[0, 1:, :, 1] += 1000
    transition = torch.tensor([[[0.0, NEVER], [0.0, 0.0]]], dtype=torch.float64)
    assert states(segments, transition, each) == [1]
    compare(on, segments, transition[0], each)


def test_positions_where_no_segment_can_end_are_passed_over(on):
    segments, each = normal(3, 12, 3, 4), torch.tensor([12, 11, 6])
    segments[:, ::2, 0] = segments[:, 1::2, 1] = segments[:, :, 2] = -torch.inf  # all starts are even
    segments[:, ::2, 1] = normal(3, 6, 4, seed=2)
    transition = normal(1, 4, 4, seed=1)
    assert states(segments, transition, each) == [1, 0, 1]
    compare(on, segments, transition[0], each)


def test_transitions_that_are_all_forbidden_leave_one_segment(on):
    segments, each = normal(2, 5, 3, 2), torch.tensor([3, 4])
    forbidden = torch.full((1, 2, 2), -torch.inf, dtype=torch.float64)
    assert states(segments, forbidden, each) == [1, 0]
    compare(on, segments, forbidden[0], each)
    assert torch.allclose(
        SemiMarkov(segments, forbidden[0], each).marginals[0, 0, 2].sum(), torch.tensor(1.0).double()
    )


@pytest.mark.thinned("scale", "kind")
@pytest.mark.parametrize("scale", [pytest.param(1.0, marks=pytest.mark.slow), 30.0, 1e4])
@pytest.mark.parametrize("kind", ["none", "shared"])
def test_long_sequences(on, poisoned_memory, kind, scale):
    segments = scale * normal(2, 400, 5, 4)
    transition = torch.zeros(1, 1, dtype=torch.float64) if kind == "none" else scale * normal(4, 4, seed=1)
    # The reference rounds what is relative to the start: its totals are millions.
    compare(on, segments, transition, torch.tensor([400, 250]), 1e-9 if scale < 1e4 else 1e-6)


@pytest.mark.parametrize("penalty", [0, 900])
def test_the_size_of_the_total_costs_no_precision(penalty):
    """Scores of 1e4 a word leave the marginals as they are to ten digits; the penalty makes them underflow."""
    segments, transition = normal(1, 3000, 4, 4), normal(4, 4, seed=1)
    transition[1, 2] -= penalty
    small = SemiMarkov(segments, transition)
    large = SemiMarkov(segments + 1e4 * torch.arange(1, 5)[:, None], transition)
    error = (large.marginals - small.marginals).abs().max()
    assert error < 1e-10  # adding 4e4 to a score rounds away up to 4e-12 of it
    assert torch.allclose(large.log_partition, small.log_partition + 3e7, rtol=1e-14)


def test_memory_of_the_chart_does_not_grow_with_the_durations():
    from strukt.structures.semi_markov import cpu

    shapes = {
        cpu.chart_shape(torch.zeros(2, 50, k, 7), torch.zeros(1, 7, 7), torch.tensor([50, 2]))
        for k in (1, 40)
    }
    assert shapes == {(2, 51 * 15)}
