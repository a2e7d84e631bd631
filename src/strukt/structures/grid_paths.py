"""Structures whose event is a path through a grid: alignments of two sequences, with one move at each cell."""

from __future__ import annotations

import abc
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.arrays import Array
from strukt.kernels.dynamic_program import used_alternatives
from strukt.structures import sparse
from strukt.structures.distribution import StructuredDistribution


class GridPaths(StructuredDistribution, abc.ABC):
    """A structure with main scores ``batch + (rows, columns, moves)`` and events ``batch + (rows, columns)``.

    An event holds the number of the move at each cell of the path, -1 at other cells. Rows belong to the first
    sequence, and ``lengths`` are its lengths. The second sequence of an item has up to ``longest`` positions; its
    length is the only constant.
    """

    moves: ClassVar[tuple[str, ...]]
    """The names of the moves, in the order of their numbers."""

    def __init__(
        self,
        scores: tuple[Tensor, ...],
        longest: int,
        lengths: Lengths | None,
        target_lengths: Lengths | None,
        validate_args: bool | None,
    ) -> None:
        main, check = scores[0], validate_args is not False
        batch_shape, device = main.shape[:-3], main.device
        if lengths is not None:  # first, so that errors name them rather than what follows from them
            lengths = arguments.lengths(lengths, batch_shape, main.shape[-3], device, check=check)
        target_lengths = arguments.lengths(
            target_lengths, batch_shape, longest, device, "target_lengths", check
        )
        super().__init__(scores, lengths, (), validate_args, (target_lengths,))

    @property
    def target_lengths(self) -> Tensor:
        """The lengths of the second sequence, ``batch``."""
        return self.constants[0]

    @property
    def visits(self) -> Tensor:
        """The probability that the path visits each cell: ``batch + (rows, columns)``; differentiable."""
        return self.marginals.sum(-1)

    @property
    @abc.abstractmethod
    def _within(self) -> Tensor:
        """A mask of the cells within the lengths: ``batch + (rows, columns)``."""

    @property
    def _parts_within(self) -> Tensor:
        return self._within.unsqueeze(-1)

    @property
    def _main_name(self) -> str:
        """The name of the main scores in errors."""
        return self.score_names[0]

    def _check_scores(self) -> None:
        main, *others = (score.detach() for score in self._flat_scores())
        lengths, within = self._integers()[0], self._parts_within
        if len(lengths):
            cleaned = main.masked_fill(~within.reshape(len(lengths), *within.shape[-3:]), 0.0)
            guards.require_scores(cleaned, lengths, [UNBOUNDED] * 3, self._main_name)
            for name, score in zip(self.score_names[1:], others, strict=True):
                guards.require_scores(score, lengths[: len(score)], [UNBOUNDED] * 2, name)

    def to_parts(self, event: Tensor) -> Tensor:
        main = self.scores[0]
        event = arguments.event(event, self.batch_shape, self.event_shape)
        if self._validate_args:
            named = self._is_named(event).flatten(-2).all(-1)
            guards.require_structures(
                event, named, f"made of moves 0 to {len(self.moves) - 1}, or -1 for none"
            )
        moves = torch.arange(len(self.moves), device=main.device)
        return (self._within.unsqueeze(-1) & (event.unsqueeze(-1) == moves)).to(main.dtype)

    def _from_parts(self, parts: Tensor) -> Tensor:
        return used_alternatives(parts)

    def _events_of_parts(self, parts: Array, sizes: Array) -> Tensor:
        return sparse.events_of_parts(parts, sizes, self.event_shape, len(self.moves), len(self.moves))

    def _part_name(self, name: str, index: tuple[int, ...]) -> str:
        if name != "moves":
            return super()._part_name(name, index)
        return super()._part_name(self.moves[index[-1]], index[:-1])

    def _is_named(self, event: Tensor) -> Tensor:
        return ((event >= -1) & (event < len(self.moves))) | ~self._within

    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        known = (known & self._within).unsqueeze(-1)
        present = known & (event.unsqueeze(-1) == torch.arange(len(self.moves), device=event.device))
        absent = known & (event < 0).unsqueeze(-1)
        return self.condition(required=present, forbidden=absent.expand(present.shape))
