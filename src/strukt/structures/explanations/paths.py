"""Explanations of moves that are not a path through a grid."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.structures.explanations.wording import unknown
from strukt.structures.monotone_alignment.reference import STEPS

MOVES = ("match", "insert", "delete")


def path(event: Sequence[Sequence[int]], rows: int, columns: int) -> str | None:
    """Return a clause about the first fault of moves into cells; None if they are a path from first to last cell.

    ``event[i][j]`` is the move into cell (i, j): 0 (match), 1 (insert), 2 (delete), -1 for none.

    Examples:
        >>> path([[0, 1, -1], [-1, -1, 1]], 2, 3)
        'the insert into cell (1, 2) comes from cell (1, 1), which is not visited'
    """
    if not rows and not columns:
        return None
    if not rows or not columns:
        return f"no path aligns {rows} positions with {columns}; expected both sequences empty, or neither"
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
    """Follow the moves back from the cell ``last``; return a clause about the first fault; None if there is none.

    ``visited`` holds the move into each cell that has one.
    """
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


def emissions(event: Sequence[Sequence[int]], frames: int, labels: int) -> str | None:
    """Return a clause about the first fault of moves out of nodes; None if they are a path (RNN-T).

    ``event[t][u]`` is the move out of node (t, u), frame t after u labels: 0 (blank, to the next frame), 1
    (label), -1 for none.

    Examples:
        >>> emissions([[1, 0], [-1, 1]], 2, 1)
        'the label out of node (1, 1) is one more than the target has, 1'
        >>> emissions([[0, -1], [0, -1]], 2, 1)
        'the last frame is left after 0 labels; expected 1'
    """
    if not frames:
        return f"no frame emits the {labels} labels of the target" if labels else None
    t = u = 0
    passed = set()
    while t < frames:
        move = event[t][u]
        if move == -1:
            return f"node ({t}, {u}) is on the path, but no move leads out of it"
        if move < 0:
            return unknown(f"node ({t}, {u})", move, frames, "0 (blank), 1 (label), or -1 for none")
        if move > 1:
            return f"move {move} out of node ({t}, {u}) is out of range; expected 0 (blank) or 1 (label)"
        if move == 1 and u == labels:
            return f"the label out of node ({t}, {u}) is one more than the target has, {labels}"
        passed.add((t, u))
        t, u = (t, u + 1) if move == 1 else (t + 1, u)
    if u < labels:
        return f"the last frame is left after {u} labels; expected {labels}"
    for t in range(frames):
        for u in range(labels + 1):
            if event[t][u] != -1 and (t, u) not in passed:
                return f"node ({t}, {u}) has move {event[t][u]}, but is not on the path; expected -1"
    return None
