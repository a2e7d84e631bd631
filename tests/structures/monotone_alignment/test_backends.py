"""The fused kernels of alignments say what the reference says, at sizes around the widths of vectors."""

from collections.abc import Callable

import pytest
import torch
from tests.kernels.test_backends import CHANGES, answers, assert_backends_agree, normal, unchanged
from torch import Tensor

from strukt.distributions import MonotoneAlignment
from strukt.kernels import dispatch
from strukt.structures.monotone_alignment import cpu_forward

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

KINDS = {"shared": (3, 3), "per item": (5, 3, 3)}
SIZES = [(1, 1), (1, 33), (33, 1), (2, 2), (3, 2), (33, 31), (9, 65)]
Built = tuple[MonotoneAlignment, tuple[Tensor, ...]]


def build(kind: str, n: int, m: int, change: Callable[[Tensor], Tensor]) -> Callable[[], Built]:
    """Five items: two whole, one of a single row, one without an alignment, one empty."""
    rows, columns = torch.tensor([n, n - n // 3, 1, 0, 0]), torch.tensor([m, m - m // 2, m, m, 0])

    def fresh() -> Built:
        scores = change(normal(5, n, m, 3)), change(normal(*KINDS[kind], seed=1))
        leaves = tuple(score.requires_grad_() for score in scores)
        return MonotoneAlignment.from_moves(*leaves, rows, columns), leaves

    return fresh


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_grids_of_any_size(on, poisoned_memory, n, m, kind, change, tolerance):
    assert_backends_agree(on, build(kind, n, m, change), tolerance)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (4, 1), (3, 5), (5, 3), (4, 4)])
def test_diagonals_hold_every_cell_once(n, m):
    count, cells = 0, []
    for d in range(n + m - 1):
        first, end = cpu_forward.rows_on(n, m, d)
        assert cpu_forward.offset(n, m, d) == count
        count += end - first
        cells += [(i, d - i) for i in range(first, end)]
    assert sorted(cells) == [(i, j) for i in range(n) for j in range(m)]


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_long_sequences_do_not_underflow(on, scale):
    """Scores far below zero, differences of hundreds of thousands of nats between paths."""
    moves = scale * (normal(1, 150, 120, 3) - 3)
    found = []
    for backend in ("reference", "cpu"):
        on(backend)
        leaf = moves.clone().requires_grad_()
        value = MonotoneAlignment.from_moves(leaf).log_partition
        found.append((value.detach(), *torch.autograd.grad(value.sum(), leaf)))
    for expected, actual in zip(*found, strict=True):
        assert torch.allclose(actual, expected, rtol=1e-7, atol=1e-7)


def test_float32_scores_are_summed_in_float64(on):
    on("cpu")
    moves = normal(2, 300, 250, 3)
    exact, single = MonotoneAlignment.from_moves(moves), MonotoneAlignment.from_moves(moves.float())
    assert torch.allclose(single.log_partition.double(), exact.log_partition, rtol=1e-7)
    assert torch.allclose(single.marginals.double(), exact.marginals, atol=1e-5)


def test_transitions_that_forbid_leave_what_is_left(on, poisoned_memory):
    """No delete and no two inserts in a row: four matches and four inserts from the first cell to the last."""
    on("cpu")
    transition = torch.zeros(3, 3, dtype=torch.float64)
    transition[:, 2] = transition[1, 1] = -torch.inf
    paths = MonotoneAlignment.from_moves(normal(5, 9, 3), transition)
    assert paths.log_count.exp().round() == 5
    assert (paths.log_prob(paths.sample((20,))) > -torch.inf).all()


def test_both_backends_sample_from_the_same_distribution(on):
    distribution, _ = build("per item", 4, 5, unchanged)()
    distribution = MonotoneAlignment.from_moves(
        *(score.detach()[:3] for score in distribution.scores),
        distribution.lengths[:3],
        distribution.target_lengths[:3],
    )
    for backend in ("cpu", "reference"):
        on(backend)
        torch.manual_seed(0)
        drawn = distribution.sample((3000,))
        assert distribution.is_structure(drawn).all()
        frequencies = distribution.to_parts(drawn).mean(0)
        assert (frequencies - distribution.marginals).abs().max() < 5 * 0.5 / 3000**0.5, backend


def test_fifty_repeats_on_four_threads_are_bit_equal(on, poisoned_memory, four_threads):
    on("cpu")
    distribution, scores = build("shared", 60, 50, unchanged)()

    def once() -> list[Tensor]:
        value = distribution.log_partition
        return [value, *torch.autograd.grad(value[:3].sum(), scores), distribution.topk(1)[1]]

    first = once()
    for _ in range(50):
        assert all(torch.equal(one, other) for one, other in zip(once(), first, strict=True))
    parallel = answers(distribution, scores)
    torch.set_num_threads(1)
    serial = answers(distribution, scores)
    assert all(torch.equal(parallel[name], value) for name, value in serial.items())
