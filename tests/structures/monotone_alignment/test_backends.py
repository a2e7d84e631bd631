"""The fused kernels of alignments say what the reference says, at sizes around the widths of vectors."""

from collections.abc import Callable

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference, log_partition_and_gradient
from tests.kernels.test_backends import CHANGES, assert_backends_agree, normal
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
    assert_kernels_answer_as_the_reference(
        on, lambda: log_partition_and_gradient(MonotoneAlignment.from_moves, moves), 1e-7
    )


def test_transitions_that_forbid_leave_what_is_left(on, poisoned_memory):
    """No delete and no two inserts in a row: four matches and four inserts from the first cell to the last."""
    on("cpu")
    transition = torch.zeros(3, 3, dtype=torch.float64)
    transition[:, 2] = transition[1, 1] = -torch.inf
    paths = MonotoneAlignment.from_moves(normal(5, 9, 3), transition)
    assert paths.log_count.exp().round() == 5
    assert (paths.log_prob(paths.sample((20,))) > -torch.inf).all()
