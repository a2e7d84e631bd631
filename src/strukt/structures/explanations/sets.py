"""Explanations of numbers that are not a subset, a spanning tree or a matching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from strukt.structures.explanations.wording import listed, out_of_range, unknown


def indicators(entries: Iterable[tuple[str, int]], length: int) -> str | None:
    """Return a clause about the first entry that is neither 0 nor 1; None if there is none.

    ``entries`` are pairs of a name and a value.
    """
    for name, value in entries:
        if value < 0:
            return unknown(name, value, length, "0 or 1")
        if value > 1:
            return f"{name} holds {value}; expected 0 or 1"
    return None


def vector(event: Sequence[int], length: int) -> str | None:
    """Return a clause about the first entry within the length that is neither 0 nor 1; None if there is none."""
    return indicators(((f"position {place}", value) for place, value in enumerate(event[:length])), length)


def subset(event: Sequence[int], length: int, low: int, high: int) -> str | None:
    """Return a clause about the first fault of a subset of ``low`` to ``high`` items; None if it is one.

    Examples:
        >>> subset([1, 1, 1, 0], 4, 2, 2)
        'it takes 3 items; expected 2'
    """
    size = sum(event[:length])
    fault = vector(event, length)
    if fault or low <= size <= high:
        return fault
    return f"it takes {size} items; expected {low if low == high else f'{low} to {high}'}"


def spanning_tree(event: Sequence[Sequence[int]], length: int) -> str | None:
    """Return a clause about the first fault of the edges of a graph; None if they are a spanning tree.

    For i < j, ``event[i][j]`` is 1 if the graph has the edge between i and j, else 0.

    Examples:
        >>> spanning_tree([[-1, 1, 1], [-1, -1, 1], [-1, -1, -1]], 3)
        'the edge (1, 2) closes a cycle'
    """
    places = list(combinations(range(length), 2))
    fault = indicators(((f"edge ({i}, {j})", event[i][j]) for i, j in places), length)
    if fault:
        return fault
    component = list(range(length))
    for i, j in places:
        if event[i][j]:
            first, second = component[i], component[j]
            if first == second:
                return f"the edge ({i}, {j}) closes a cycle"
            component = [first if name == second else name for name in component]
    apart = [vertex for vertex, name in enumerate(component) if name != component[0]]
    return f"no edges connect vertex 0 with {_vertices(apart)}" if apart else None


def matching(event: Sequence[int], length: int, columns: int) -> str | None:
    """Return a clause about the first fault of the columns of rows; None if they are a matching.

    Examples:
        >>> matching([2, 0, 2], 3, 4)
        'rows 0 and 2 take the same column 2'
    """
    fault = out_of_range(event, length, columns, "column", "row")
    if fault:
        return fault
    for column in event[:length]:
        rows = [row for row, taken in enumerate(event[:length]) if taken == column]
        if len(rows) > 1:
            return f"rows {listed(rows)} take the same column {column}"
    return None


def _vertices(numbers: Sequence[int]) -> str:
    return ("vertices " if len(numbers) > 1 else "vertex ") + listed(numbers)
