"""Numba kernels that check dependency trees and spanning trees: see `strukt.structures.events`."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.events.cpu_calls import mask_of, places_of


def are_dependency_trees(heads: Tensor, lengths: Tensor, single_root: bool, projective: bool) -> Tensor:
    return mask_of(_are_dependency_trees, heads, lengths, single_root, projective)


@kernel
def _are_dependency_trees(
    heads: Array, lengths: Array, single_root: bool, projective: bool, are_valid: Array
) -> None:
    """Write to ``are_valid`` True for rows of heads that are trees, else False.

    Arrays: ``heads (rows, n)``; ``lengths`` and the result ``are_valid (rows,)``.
    """
    seen = np.empty(heads.shape[1] + 1, np.int64)
    for row in range(len(heads)):
        n, above = lengths[row], heads[row]
        are_valid[row] = _reach_root(above, n, seen)
        if are_valid[row] and single_root and n > 0:
            are_valid[row] = np.sum(above[:n] == 0) == 1
        if are_valid[row] and projective:
            are_valid[row] = not _cross(above, n)


@inner
def _reach_root(heads: Array, n: int, seen: Array) -> bool:
    """Return True if all n words reach the root; False if there is a cycle, or a head out of range.

    From each word, heads are followed to the root, or to a word ``seen`` before; ``seen`` is a workspace
    ``(n + 1,)`` that holds the word from which each word was first reached, or 0.
    """
    seen[:] = 0
    for word in range(1, n + 1):
        place = word
        while place > 0 and seen[place] == 0:
            seen[place] = word
            place = heads[place - 1]
            if place < 0 or place > n:
                return False
        if place > 0 and seen[place] == word:
            return False
    return True


@inner
def _cross(heads: Array, n: int) -> bool:
    """Return True if any two arcs cross."""
    for word in range(1, n + 1):
        low, high = min(word, heads[word - 1]), max(word, heads[word - 1])
        for other in range(1, n + 1):
            start, end = min(other, heads[other - 1]), max(other, heads[other - 1])
            if low < start and start < high and high < end:
                return True
    return False


def are_spanning_trees(edges: Tensor, lengths: Tensor) -> Tensor:
    return mask_of(_are_spanning_trees, edges, lengths)


@kernel
def _are_spanning_trees(edges: Array, lengths: Array, are_valid: Array) -> None:
    """Write to ``are_valid`` True for rows that are spanning trees, else False.

    Union-find: an edge within a component closes a cycle.

    Arrays: ``edges (rows, n, n)``; ``lengths`` and the result ``are_valid (rows,)``.
    """
    parents = np.empty(edges.shape[1], np.int64)
    for row in range(len(edges)):
        n, count, valid = lengths[row], 0, True
        for vertex in range(n):
            parents[vertex] = vertex
        for i in range(n):
            for j in range(i + 1, n):
                if edges[row, i, j] == 1:
                    first, second = _component_of(parents, i), _component_of(parents, j)
                    valid &= first != second
                    parents[first] = second
                    count += 1
                else:
                    valid &= edges[row, i, j] == 0
        are_valid[row] = valid and count == max(n - 1, 0)


@inner
def _component_of(parents: Array, vertex: int) -> int:
    """Return the vertex that represents a vertex's component; shorten the path to it."""
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]
        vertex = parents[vertex]
    return vertex


def edge_places(edges: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    rows, n, _ = edges.shape
    return places_of(_edge_places, (rows, n * n), edges, lengths)


@kernel
def _edge_places(edges: Array, lengths: Array, present: Array, absent: Array) -> None:
    """Write the places of edges that are used to ``present``, and those of other edges to ``absent``.

    Arrays: ``edges (rows, n, n)``, ``lengths (rows,)``, and the results ``present`` and ``absent (rows, n n)``,
    whose other entries are not written.
    """
    size = edges.shape[1]
    for row in range(len(edges)):
        for i in range(lengths[row]):
            for j in range(i + 1, lengths[row]):
                chosen = present if edges[row, i, j] > 0 else absent
                chosen[row, i * size + j] = i * size + j
