"""Why moves are no path through a grid."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.structures.explanations.wording import unknown

MOVES = ("match", "insert", "delete")
STEPS = ((1, 1), (0, 1), (1, 0))
"""How many rows and columns each move goes on."""


def path(event: Sequence[Sequence[int]], rows: int, columns: int) -> str | None:
    """The first fault of the moves into visited cells, None if they are a path from the first cell to the last.

    Examples:
        >>> path([[0, 1, -1], [-1, -1, 1]], 2, 3)
        'the insert into cell (1, 2) comes from cell (1, 1), which is not visited'
    """
    if not rows and not columns:
        return None
    if not rows or not columns:
        return f"no path aligns {rows} positions with {columns}; expected both sequences empty, or none"
    visited = {}
    for i in range(rows):
        for j in range(columns):
            move = event[i][j]
            if move < -1:
                return unknown(f"cell ({i}, {j})", move, rows, "a move from 0 to 2, or -1 for none")
            if move > 2:
                return f"move {move} into cell ({i}, {j}) is out of range; expected 0 (match) to 2 (delete)"
            if move >= 0:
                visited[i, j] = move
    return _walk(visited, (rows - 1, columns - 1))


def _walk(visited: dict[tuple[int, int], int], last: tuple[int, int]) -> str | None:
    """Follow the moves back from the last cell."""
    if visited.get((0, 0), 0) != 0:
        return (
            f"cell (0, 0) is entered by {MOVES[visited[0, 0]]}; expected match (0), with which a path begins"
        )
    for name, cell in (("first", (0, 0)), ("last", last)):
        if cell not in visited:
            return f"the {name} cell {cell} is not visited"
    cell, passed = last, {(0, 0)}
    while cell != (0, 0):
        passed.add(cell)
        move = visited[cell]
        before = (cell[0] - STEPS[move][0], cell[1] - STEPS[move][1])
        if min(before) < 0:
            return f"the {MOVES[move]} into cell {cell} comes from outside the grid"
        if before not in visited:
            return f"the {MOVES[move]} into cell {cell} comes from cell {before}, which is not visited"
        cell = before
    beside = sorted(set(visited) - passed)
    return f"cell {beside[0]} is visited, but is not on the path to the last cell {last}" if beside else None
