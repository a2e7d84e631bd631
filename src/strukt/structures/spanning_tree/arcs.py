"""Conversion between undirected edges and the arcs of a tree rooted at vertex 0.

Vertex v > 0 is word v - 1 of a non-projective tree, and vertex 0 the root: each spanning tree has exactly one
orientation away from vertex 0, in which every other vertex has one head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF


def to_arcs(edges: Tensor) -> Tensor:
    """Return the scores of arcs from those of edges ``(batch, n, n)``, of which the upper triangle is read.

    The result is ``(batch, n - 1, n)``, or ``(batch, 0, 1)`` for n = 0; ``[m, h]`` scores the arc from vertex h to
    vertex m + 1. An edge of vertex 0 has one arc, which leaves vertex 0; any other edge has two.
    """
    n = edges.shape[-1]
    if n == 0:
        return edges.new_zeros(len(edges), 0, 1)
    upper = edges.triu(1)
    return (upper + upper.mT)[:, 1:]


def from_arcs(arcs: Tensor, n: int) -> Tensor:
    """Return the sum of the values of each edge's arcs, in the upper triangle of ``(..., n, n)``; 0 elsewhere.

    ``arcs (..., n - 1, n)`` are the values of arcs, as in `to_arcs`.
    """
    whole = torch.nn.functional.pad(arcs, (0, 0, 1, 0))[..., :n, :n]
    return (whole + whole.mT).triu(1)


def word_counts(lengths: Tensor) -> Tensor:
    """Return the number of words, ``(batch,)``: all vertices but the root, which is vertex 0."""
    return (lengths - 1).clamp(min=0)


def pairs(lengths: Tensor, n: int) -> Tensor:
    """Return a mask ``(batch, n, n)`` of the edges i < j between vertices within the lengths."""
    ends = torch.arange(n, device=lengths.device)
    return (ends.unsqueeze(-1) < ends) & (ends < lengths[..., None, None])


def required_edges(edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask ``(batch, n, n)`` of the required edges: those with -inf in ``absent (g, n, n)``.

    Consecutive items share a row of ``absent``; g divides the batch.
    """
    batch, n, _ = edges.shape
    absent = absent.repeat_interleave(batch // max(len(absent), 1), 0)
    return (absent == NEG_INF) & pairs(lengths, n)


def events(heads: Tensor, scores: Tensor, lengths: Tensor, n: int) -> Tensor:
    """Return events ``(batch, count, n, n)`` from heads ``(batch, count, n - 1)``.

    They are -1 in entries that are not edges i < j within the lengths, and for trees whose
    ``scores (batch, count)`` are -inf.
    """
    used = heads.unsqueeze(-1) == torch.arange(max(n, 1), device=heads.device)
    real = pairs(lengths, n).unsqueeze(1) & (scores > NEG_INF)[..., None, None]
    return torch.where(real, from_arcs(used.long(), n), -1)
