"""Spanning trees without required edges in a few operations of PyTorch, on devices without kernels."""

from __future__ import annotations

from strukt.structures.non_projective_tree import executor as matrix_tree
from strukt.structures.spanning_tree.gpu import fits
from strukt.structures.spanning_tree.rooted import Rooted

__all__ = ["any_scores", "chart_shape", "fits", "inside", "outside"]

any_scores = matrix_tree.any_scores

_TREES = Rooted(matrix_tree)
chart_shape, inside, outside = _TREES.chart_shape, _TREES.inside, _TREES.outside
