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
    heads: Array, lengths: Array, single_root: bool, projective: bool, right: Array
) -> None:
    """Write whether rows of ``heads (rows, n)`` are trees to ``right (rows,)``; ``lengths`` is ``(rows,)``."""
    seen = np.empty(heads.shape[1] + 1, np.int64)
    for row in range(len(heads)):
        n, above = lengths[row], heads[row]
        right[row] = _reach_root(above, n, seen)
        if right[row] and single_root and n > 0:
            right[row] = np.sum(above[:n] == 0) == 1
        if right[row] and projective:
            right[row] = not _cross(above, n)


@inner
def _reach_root(heads: Array, n: int, seen: Array) -> bool:
    """Return True if all words reach the root: follow heads to the root, or to a word that was reached before."""
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
def _are_spanning_trees(edges: Array, lengths: Array, right: Array) -> None:
    """Write True for rows that are spanning trees, by union-find: no edge may lie within a component.

    Arrays: ``edges (rows, n, n)``; ``lengths`` and the result ``right (rows,)``.
    """
    parts = np.empty(edges.shape[1], np.int64)
    for row in range(len(edges)):
        n, count, valid = lengths[row], 0, True
        for vertex in range(n):
            parts[vertex] = vertex
        for i in range(n):
            for j in range(i + 1, n):
                if edges[row, i, j] == 1:
                    first, second = _part_of(parts, i), _part_of(parts, j)
                    valid &= first != second
                    parts[first] = second
                    count += 1
                else:
                    valid &= edges[row, i, j] == 0
        right[row] = valid and count == max(n - 1, 0)


@inner
def _part_of(parts: Array, vertex: int) -> int:
    while parts[vertex] != vertex:
        parts[vertex] = parts[parts[vertex]]
        vertex = parts[vertex]
    return vertex


def edge_places(edges: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    rows, n, _ = edges.shape
    return places_of(_edge_places, (rows, n * n), edges, lengths)


@kernel
def _edge_places(edges: Array, lengths: Array, present: Array, absent: Array) -> None:
    """Write the places of edges that are used to ``present``, and those of other edges to ``absent``.

    Arrays: ``edges (rows, n, n)``, ``lengths (rows,)``, and the results ``present`` and ``absent (rows, n n)``.
    """
    size = edges.shape[1]
    for row in range(len(edges)):
        for i in range(lengths[row]):
            for j in range(i + 1, lengths[row]):
                chosen = present if edges[row, i, j] > 0 else absent
                chosen[row, i * size + j] = i * size + j
