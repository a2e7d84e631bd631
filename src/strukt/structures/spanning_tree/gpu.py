"""Spanning trees without required edges on GPUs: the kernels of the Matrix-Tree theorem."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.structures.non_projective_tree import gpu as matrix_tree
from strukt.structures.spanning_tree.rooted import Rooted

any_scores = matrix_tree.any_scores

_TREES = Rooted(matrix_tree)
chart_shape, inside, outside, derivative = _TREES.chart_shape, _TREES.inside, _TREES.outside, _TREES.derivative
entropy, entropy_gradient = _TREES.entropy, _TREES.entropy_gradient
surprise, surprise_gradient, sample = _TREES.surprise, _TREES.surprise_gradient, _TREES.sample


def fits(edges: Tensor, absent: Tensor, *more: Any) -> bool:
    """Return True if there are edges and none is known to be required; see `strukt.kernels.dispatch`.

    Nothing is required while ``absent`` is the one zero, expanded, with which a distribution begins. Where it was
    copied, as by ``torch.func``, the CPU's kernels read it. Cross-entropies have other scores before the lengths.
    """
    absences = (absent, more[1]) if more and more[0].is_floating_point() else (absent,)
    free = not any(step for each in absences for step in each.stride())
    return edges.numel() > 0 and edges.shape[-1] > 1 and free
