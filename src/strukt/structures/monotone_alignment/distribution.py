"""Monotone alignments of two sequences (Needleman-Wunsch, Gotoh): grid paths, with plain or affine gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.places import Places
from strukt.kernels.semiring import NEG_INF
from strukt.structures import events
from strukt.structures.events import shifted
from strukt.structures.explanations import paths
from strukt.structures.grid_paths import GridPaths
from strukt.structures.monotone_alignment.grid import any_before, number_of_paths, paths_to
from strukt.structures.monotone_alignment.reference import REFERENCE, max_marginals

MOST_CANDIDATES = 1 << 18
"""The most paths that `enumerate_support` lists."""


class MonotoneAlignment(GridPaths):
    """Alignments of two sequences: paths through a grid, scored by moves and pairs of consecutive moves.

    A path aligns a sequence of n positions with one of m (Needleman and Wunsch 1970). It goes from the cell (0, 0)
    to the cell (n - 1, m - 1). Each cell that it visits was entered by one move: a match (0) from (i - 1, j - 1),
    an insert (1) from (i, j - 1) or a delete (2) from (i - 1, j); the first cell counts as entered by a match. Two
    empty sequences have one empty path; if only one of them is empty, there is none. To let a path begin with
    gaps, put an empty position before each sequence.

    Args:
        match: ``batch + (n, m)``, the score of entering each cell by a match.
        insert: The score of an insert, in the shape of ``match`` or one that broadcasts to it, such as a scalar.
        delete: The score of a delete, in a shape as for ``insert``.
        transition: ``(3, 3)`` or ``batch + (3, 3)``: ``[a, b]`` scores move a followed by move b; 0 if None. With
            -x at ``[0, 1]`` and ``[0, 2]`` gaps are affine: opening one costs x more than extending it (Gotoh
            1982).
        lengths: ``batch``, positions of the first sequence; all n if None.
        target_lengths: ``batch``, positions of the second; all m if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n, m)``: the move into each visited cell, -1 elsewhere; parts and marginals are
    ``batch + (n, m, 3)``. Sums and maxima over paths take O(n m) time per item; ``topk(k)`` also compares
    O(k (n + m)) paths, each of which leaves a better one at one cell (the PyTorch reference takes k^2 times as
    long as for the mode).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> same = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        >>> alignment = MonotoneAlignment(same, torch.tensor(-0.5), torch.tensor(-0.5))
        >>> alignment.mode
        tensor([[ 0,  1, -1],
                [-1, -1,  0]])
        >>> alignment.log_count.exp().round()
        tensor(5.)
        >>> alignment.visits  # the probability that the path visits each cell
        tensor([[1.0000, 0.7163, 0.0763],
                [0.0763, 0.3600, 1.0000]])
    """

    oracles = TableOracles(
        __package__,
        scores=("moves", "transition"),
        options=(),
        reference=REFERENCE,
        event_dim=2,
        constants=("target_lengths",),
    )
    _best_with_each_part = staticmethod(max_marginals)
    moves: ClassVar[tuple[str, ...]] = paths.MOVES
    score_names: ClassVar[tuple[str, ...]] = ("moves", "transition")
    constant_names: ClassVar[tuple[str, ...]] = ("target_lengths",)
    extents = ([0, UNBOUNDED, UNBOUNDED], [UNBOUNDED, UNBOUNDED])

    def __init__(
        self,
        match: Tensor,
        insert: Tensor,
        delete: Tensor,
        transition: Tensor | None = None,
        lengths: Lengths | None = None,
        target_lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("match", match, "batch + (n, m)", 2)
        for name, value in (("insert", insert), ("delete", delete)):
            arguments.scores(name, value, "batch + (n, m), or one that broadcasts to it", 0)
            arguments.fitting(name, value, match.shape)
        moves = torch.stack([match, insert.expand(match.shape), delete.expand(match.shape)], -1)
        self._set(moves, transition, lengths, target_lengths, validate_args)

    @classmethod
    def from_moves(
        cls,
        moves: Tensor,
        transition: Tensor | None = None,
        lengths: Lengths | None = None,
        target_lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> Self:
        """Return the alignment whose scores of match, insert and delete are ``moves``: ``batch + (n, m, 3)``.

        The other arguments are those of the constructor.

        Raises:
            ValueError: If shapes, types or values do not fit.
        """
        arguments.scores("moves", moves, "batch + (n, m, 3)", 3)
        if moves.shape[-1] != 3:
            raise ValueError(
                f"moves has shape {tuple(moves.shape)}; expected batch + (n, m, 3), the scores of match, insert "
                "and delete on the last axis"
            )
        made = cls.__new__(cls)
        made._set(moves, transition, lengths, target_lengths, validate_args)
        return made

    def _set(
        self,
        moves: Tensor,
        transition: Tensor | None,
        lengths: Lengths | None,
        target_lengths: Lengths | None,
        validate_args: bool | None,
    ) -> None:
        """Initialise from the scores of moves, ``batch + (n, m, 3)``, and the arguments of the constructor."""
        transition = moves.new_zeros(3, 3) if transition is None else transition
        transition = arguments.batched("transition", transition, moves.shape[:-3], (3, 3))
        super().__init__((moves, transition), moves.shape[-2], lengths, target_lengths, validate_args)

    @property
    def transition_marginals(self) -> Tensor:
        """The expected number of times that each move follows each other: ``batch + (3, 3)``; differentiable."""
        return self._marginals_beside(3, 3)

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._apply(events.are_paths, event, self.target_lengths, axes=2)  # type: ignore[no-any-return]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return paths.path(event, length, constants[0])

    @property
    def _main_name(self) -> str:
        return f"moves ({', '.join(self.moves)})"  # three arguments of the constructor

    @property
    def _within(self) -> Tensor:
        """A mask of the cells within the lengths: ``batch + (n, m)``."""
        return events.cells_within(self.event_shape, self.lengths, self.target_lengths)

    def _places(self, event: Tensor) -> Places:
        return self._apply(events.path_places, event, self.target_lengths, axes=2)  # type: ignore[no-any-return]

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        (moves, transition), (target_lengths,) = scores, constants
        return self.from_moves(moves, transition, lengths, target_lengths, validate_args=False)

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Forbid other moves into the cells of required moves, and all moves that bypass these cells.

        A move bypasses a cell that no path with this move can visit: one above and to the right of the move, or
        below and to the left.
        """
        moves, transition = self.scores
        required = required & self._within.unsqueeze(-1)
        cells = required.any(-1)
        others = cells.unsqueeze(-1) & (~required | (required.sum(-1, keepdim=True) > 1))
        above_right = any_before(cells, rows=True, columns=False)
        below_left = any_before(cells, rows=False, columns=True)
        passing = torch.stack(
            [
                shifted(above_right, -1, 0) | shifted(below_left, 0, -1),
                shifted(above_right, -1, 0) | shifted(below_left, 1, -1),
                shifted(above_right, -1, 1) | shifted(below_left, 0, -1),
            ],
            -1,
        )
        return moves.masked_fill(others | passing, NEG_INF), transition

    def _candidates(self) -> Tensor:
        n, m = self.event_shape
        columns = int(self.target_lengths.flatten()[0])
        if number_of_paths(n, columns) > MOST_CANDIDATES:
            raise ValueError(f"the paths through {n} x {columns} cells are too many to enumerate")
        paths = paths_to(n - 1, columns - 1) if n and columns else [()]
        rows = torch.full((len(paths), n, m), -1, dtype=torch.int64)
        for row, path in zip(rows, paths, strict=True):
            for i, j, move in path:
                row[i, j] = move
        return rows.to(self.scores[0].device)
