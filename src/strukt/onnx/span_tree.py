"""The best binary tree (CKY) in operators of ONNX: one loop over the widths of spans upwards, one downwards.

A step computes all spans of a width at a time. Charts are ``(batch, n + 1, n + 1)``, indexed by the first
fencepost and the width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.onnx.loops import at, grid, scan


def best_spans(spans: Tensor, lengths: Tensor) -> Tensor:
    """Return the mask of the spans of the best tree ``(batch, n + 1, n + 1)``; time O(n^3) per item in O(n) steps.

    Args:
        spans: ``(batch, n + 1, n + 1)``, the score of each span by its first and last fencepost.
        lengths: ``(batch,)``, in words.
    """
    start, width, last = grid(spans)  # of the entries of a chart; as widths those of left parts

    def grow(chart: Tensor, step: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Fill in the best scores of spans of a width; return the chart, and the widths of their left children."""
        whole, scores = step
        divided = (width >= 1) & (width < whole) & (start + whole <= last)
        best, split = torch.where(divided, chart + at(chart, start + width, whole - width), -torch.inf).max(2)
        best = torch.where(whole <= 1, 0.0, best) + scores
        return torch.where(width == whole, best[:, :, None], chart), split

    def divide(chosen: Tensor, step: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Choose both parts of each chosen span of a width."""
        whole, split = step
        parents = (chosen & (width == whole) & (whole >= 2)).any(2)
        left = parents[:, :, None] & (width == split[:, :, None])
        shift = whole - width  # a right part begins where a left part of this width ends
        right = at(left, start - shift, shift) & (shift >= 1) & (start >= shift)
        return chosen | left | right, whole

    scores = at(spans, start, start + width).permute(2, 0, 1)
    _, splits = scan(grow, torch.zeros_like(spans), (width, scores))
    top = (start == 0) & (width == lengths[:, None, None]) & (width > 0)
    chosen, _ = scan(divide, top, (width, splits), reverse=True)
    return at(chosen, start, width - start) & (width > start)
