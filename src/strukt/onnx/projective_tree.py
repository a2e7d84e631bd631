"""The best projective tree (Eisner 1996) in ONNX operators, by two loops: from narrow to wide spans, and back.

A step computes all spans of a width at once. Charts are ``(batch, n + 1, n + 1)``, indexed by the head of a span,
which is one of its ends, and by the distance to the other end. Word 0 is the root.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.onnx.loops import at, grid, scan


def best_heads(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the heads of the best tree ``(batch, n)``; time O(n^3) per item, in O(n) sequential steps.

    Args:
        arcs: ``(batch, n, n + 1)``, the score of each head for each word.
        lengths: ``(batch,)``, the numbers of words.
        single_root: Whether exactly one word depends on the root.
    """
    word, index, _ = grid(arcs[:, 0])
    arcs = torch.cat([torch.zeros_like(arcs[:, :1]), arcs], 1)
    right, left, *splits = _grow(arcs)
    if single_root:
        rest = (lengths[:, None, None] - word).clamp(min=0)
        both = left.gather(2, (word - 1).clamp(min=0).expand_as(left[:, :, :1])) + right.gather(2, rest)
        within = (index >= 1) & (index <= lengths[:, None])
        child = torch.where(within, both[:, :, 0] + arcs[:, :, 0], -torch.inf).argmax(1)[:, None, None]
        to_right = (word == child) & (index == lengths[:, None, None] - word)
        to_left = (word == child) & (index == word - 1)
    else:
        to_right = (word == 0) & (index == lengths[:, None, None])
        to_left = torch.zeros_like(to_right)
    has_right, has_left = _divide(to_right, to_left, splits)
    head, distance = index, index - word
    chosen = at(has_right, head, -distance) & (distance < 0) | at(has_left, head, distance) & (distance > 0)
    return chosen[:, 1:].int().argmax(2)  # 0, the root, for words without an arc from another word


def _grow(arcs: Tensor) -> tuple[Tensor, ...]:
    """Return the scores of the best spans to the right and to the left of their heads, and their splits.

    Args:
        arcs: ``(batch, n + 1, n + 1)``, the score of each head for each word.

    Returns:
        The chart of spans to the right, and that of spans to the left; and three tensors of splits,
        ``(n + 1, batch, n + 1)``, indexed by width, item and head: the distance from the head at which the best
        span to the right, the best span to the left, and the best pair of spans below an arc is split.
    """
    word, distance, last = grid(arcs)

    def step(
        charts: tuple[Tensor, ...], item: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Fill in the spans of one width; return the charts, and the splits of these spans."""
        right, left, right_arcs, left_arcs = charts
        whole, to_right, to_left = item
        shorter, longer = distance < whole, (distance >= 1) & (distance <= whole)
        below = right + at(left, word + whole, whole - 1 - distance)
        below, below_split = torch.where(shorter & (word + whole <= last), below, -torch.inf).max(2)
        ends = below[:, (distance - whole).clamp(min=0)]
        fresh = distance == whole
        right_arcs = torch.where(fresh, (below + to_right)[:, :, None], right_arcs)
        left_arcs = torch.where(fresh, (ends + to_left)[:, :, None], left_arcs)
        best_right = right_arcs + at(right, word + distance, whole - distance)
        best_right, right_split = torch.where(longer & (word + whole <= last), best_right, -torch.inf).max(2)
        best_left = left_arcs + at(left, word - distance, whole - distance)
        best_left, left_split = torch.where(longer & (word >= whole), best_left, -torch.inf).max(2)
        begun = whole == 0
        right = torch.where(fresh, torch.where(begun, 0.0, best_right)[:, :, None], right)
        left = torch.where(fresh, torch.where(begun, 0.0, best_left)[:, :, None], left)
        return (right, left, right_arcs, left_arcs), (right_split, left_split, below_split)

    to_right = at(arcs, word + distance, word).permute(2, 0, 1)  # [distance, item, head]
    to_left = at(arcs, word - distance, word).permute(2, 0, 1)
    nothing = torch.zeros_like(arcs)
    charts, splits = scan(step, (nothing, nothing, nothing, nothing), (distance, to_right, to_left))
    return charts[0], charts[1], *splits


def _divide(to_right: Tensor, to_left: Tensor, splits: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return masks of the arcs of the best tree, to the right and to the left, indexed by head and distance.

    Args:
        to_right: A mask of the widest spans to the right of their heads, with which the division begins.
        to_left: A mask of the widest spans to the left of their heads, with which the division begins.
        splits: The three tensors of splits that `_grow` returns.
    """
    word, distance, last = grid(to_right)

    def step(chosen: tuple[Tensor, ...], item: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
        """Choose the arc, and the two smaller spans, of each chosen span of one width; the output is ignored."""
        right, left, right_arcs, left_arcs = chosen
        whole, right_split, left_split, below_split = item
        now = (distance == whole) & (whole >= 1)
        rest = whole - distance

        parents = (right & now).any(2)[:, :, None] & (distance == right_split[:, :, None])
        right_arcs = right_arcs | parents
        right = right | at(parents, word - rest, rest) & (rest >= 1) & (word >= rest)

        parents = (left & now).any(2)[:, :, None] & (distance == left_split[:, :, None])
        left_arcs = left_arcs | parents
        left = left | at(parents, word + rest, rest) & (rest >= 1) & (word + rest <= last)

        ends = at(left_arcs, distance + whole, whole) & (distance + whole <= last)
        parents = (right_arcs & now).any(2) | ends & (whole >= 1)
        parents = parents[:, :, None] & (distance == below_split[:, :, None])
        right = right | parents
        left = left | at(parents, word - whole, rest - 1) & (rest >= 1) & (word >= whole)
        return (right, left, right_arcs, left_arcs), whole

    nothing = torch.zeros_like(to_right)
    chosen, _ = scan(step, (to_right, to_left, nothing, nothing), (distance, *splits), reverse=True)
    return chosen[2], chosen[3]
