"""Spanning trees without required edges on GPUs: the kernels of the Matrix-Tree theorem, and Prim's algorithm."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.structures.non_projective_tree import gpu as matrix_tree
from strukt.structures.spanning_tree.rooted import Rooted

any_scores = matrix_tree.any_scores

_TREES = Rooted(matrix_tree)
chart_shape, inside, outside, derivative = _TREES.chart_shape, _TREES.inside, _TREES.outside, _TREES.derivative
entropy, entropy_gradient = _TREES.entropy, _TREES.entropy_gradient
surprise, surprise_gradient, sample = _TREES.surprise, _TREES.surprise_gradient, _TREES.sample


def fits(edges: Tensor, absent: Tensor, *more: Any) -> bool:
    """Return True if there are edges and certainly none is required; see `strukt.kernels.dispatch`.

    Nothing is required while ``absent`` is a single expanded zero, as in a new distribution. Once it is copied, as
    by ``torch.func``, the CPU kernels read it. ``more`` begins with the lengths, or, for cross-entropies, with the
    other two scores.
    """
    absences = (absent, more[1]) if more and more[0].is_floating_point() else (absent,)
    free = not any(step for each in absences for step in each.stride())
    return edges.numel() > 0 and edges.shape[-1] > 1 and free


def best(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return a best event ``(batch, n, n)`` and its score ``(batch,)``, in n sequential steps.

    They are -1 and -inf if the graph is not connected. Time O(n^2) per item.
    """
    from strukt.structures.spanning_tree import gpu_prim  # needs Triton

    batch, n, _ = edges.shape
    events, score = lengths.new_empty(edges.shape, dtype=torch.int64), edges.new_empty(batch)
    inputs, block = (edges.detach().contiguous(), lengths.contiguous()), 1 << (n - 1).bit_length()
    with device_of(edges):
        launcher(gpu_prim.best, (batch,))(*inputs, events, score, n, B=block, num_warps=matrix_tree.warps(block))
    return events, score
