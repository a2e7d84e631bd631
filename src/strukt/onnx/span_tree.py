"""The best binary tree (CKY) in ONNX operators, by two loops: from narrow to wide spans, and back.

A step computes all spans of a width at once. Charts are ``(batch, n + 1, n + 1)``, indexed by first fencepost and
width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.onnx.loops import at, grid, scan


def best_spans(spans: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask ``(batch, n + 1, n + 1)`` of the spans of the best tree, with the indices of ``spans``.

    If every tree is forbidden, the mask is not a tree. Time O(n^3) per item, in O(n) sequential steps.

    Args:
        spans: ``(batch, n + 1, n + 1)``, the score of each span, indexed by first and last fencepost.
        lengths: ``(batch,)``, the numbers of words.
    """
    start, width, last = grid(spans)  # indices of a chart; `width` is also that of left children

    def grow(chart: Tensor, step: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Fill in the best scores of spans of a width; return the chart, and the widths of left children."""
        whole, scores = step
        divided = (width >= 1) & (width < whole) & (start + whole <= last)
        best, split = torch.where(divided, chart + at(chart, start + width, whole - width), -torch.inf).max(2)
        best = torch.where(whole <= 1, 0.0, best) + scores
        return torch.where(width == whole, best[:, :, None], chart), split

    def divide(chosen: Tensor, step: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Choose both children of each chosen span of a width."""
        whole, split = step
        parents = (chosen & (width == whole) & (whole >= 2)).any(2)
        left = parents[:, :, None] & (width == split[:, :, None])
        shift = whole - width  # the width of the left child before a right child of this width
        right = at(left, start - shift, shift) & (shift >= 1) & (start >= shift)
        return chosen | left | right, whole

    scores = at(spans, start, start + width).permute(2, 0, 1)
    _, splits = scan(grow, torch.zeros_like(spans), (width, scores))
    top = (start == 0) & (width == lengths[:, None, None]) & (width > 0)
    chosen, _ = scan(divide, top, (width, splits), reverse=True)
    return at(chosen, start, width - start) & (width > start)
