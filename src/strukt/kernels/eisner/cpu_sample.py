"""Samples of projective trees, from the root downwards, from the chart of the inside pass."""

from __future__ import annotations

from strukt.kernels.cpu_draw import draw_term
from strukt.kernels.cpu_semiring import Array, dot
from strukt.kernels.eisner import cpu_tree
from strukt.kernels.jit import kernel


@kernel
def draw(
    semiring: int, chart: Array, totals: Array, attached: Array, single_root: bool, state: Array,
    stack: Array, heads: Array,
) -> None:  # fmt: skip
    """One tree; ``totals`` and ``attached`` are those of `cpu_tree.attach_to_root`, the stack ``(2 n + 2, 3)``."""
    right, left, open_ = chart[0], chart[1], chart[2]
    depth, end = 0, len(heads)
    while end > 0:
        child = draw_term(semiring, totals[0, end], attached, 0, right, end - 1, 0, end, 0, state)
        first = 0
        if not single_root:
            below = dot(semiring, totals, 0, left, child, 0, child + 1, 0)
            first = draw_term(semiring, below, totals, 0, left, child, 0, child + 1, 0, state)
        heads[child] = 0
        depth = cpu_tree.add_child_of_root(stack, depth, first, child, end - 1)
        end = first
    while depth > 0:
        depth -= 1
        kind, i, j = stack[depth]
        if kind == cpu_tree.RIGHT:
            word = draw_term(semiring, right[i, j], open_, i, right, j, i + 1, j + 1, 0, state)
        else:
            word = draw_term(semiring, left[i, j], left, i, open_, j, i, j, 0, state)
        head, low, high = cpu_tree.arc_to(kind, i, j, word)
        heads[word] = head + 1
        joined = dot(semiring, right, low, left, high, low, high, 1)
        split = draw_term(semiring, joined, right, low, left, high, low, high, 1, state)
        depth = cpu_tree.add_parts(stack, depth, kind, i, j, word, split)
