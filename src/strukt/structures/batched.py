"""The tensors of a structure: methods that expand, flatten and restore their batch axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution
from typing_extensions import Self

from strukt.checks import arguments


class BatchedTensors(Distribution):
    """The base class of `ScoredStructures` that holds scores, lengths, constants and options, without checks."""

    score_names: ClassVar[tuple[str, ...]]
    constant_names: ClassVar[tuple[str, ...]] = ()
    extents: tuple[list[int], ...]
    """For each score tensor, the size of each part axis minus the length (see `guards.within`)."""

    scores: tuple[Tensor, ...]
    lengths: Tensor
    constants: tuple[Tensor, ...]
    options: tuple[int, ...]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Return the distribution with batch axes added in front, or expanded from size 1; no data is copied.

        Args:
            batch_shape: The new batch axes.

        Raises:
            ValueError: If the batch axes do not expand to these.
        """
        batch_shape = torch.Size(batch_shape)
        sizes = zip(reversed(self.batch_shape), reversed(batch_shape), strict=False)
        if len(batch_shape) < len(self.batch_shape) or any(size not in (1, new) for size, new in sizes):
            raise ValueError(
                f"batch_shape is {tuple(batch_shape)}; expected one to which {tuple(self.batch_shape)} expands"
            )
        scores = []
        for index, (score, extents) in enumerate(zip(self.scores, self.extents, strict=True)):
            batched, parts = _split_shape(score, len(extents))
            shared = index and batched.numel() == 1
            scores.append(
                score.expand((torch.Size([1] * len(batch_shape)) if shared else batch_shape) + parts)
            )
        constants = tuple(
            constant.expand(batch_shape + constant.shape[len(self.batch_shape) :])
            for constant in self.constants
        )
        return self._rebuilt(tuple(scores), self.lengths.expand(batch_shape), constants)

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{name}: {tuple(score.shape)}" for name, score in zip(self.score_names, self.scores, strict=True)
        )
        return f"{type(self).__name__}({shapes})"

    def _with_scores(self, *scores: Tensor) -> Self:
        """Return the distribution with other scores; lengths, constants and options stay the same."""
        return self._rebuilt(scores, self.lengths, self.constants)

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        """Return a distribution of the same class with the same options, from tensors that need no check."""
        kind: Any = type(self)
        return kind(*scores, lengths, *constants, *self.options, validate_args=False)  # type: ignore[no-any-return]

    def _on_cpu(self) -> Self:
        """Return the distribution with its tensors on the CPU; differentiable."""
        if self.scores[0].is_cpu:
            return self
        scores, constants = (tuple(each.cpu() for each in group) for group in (self.scores, self.constants))
        return self._rebuilt(scores, self.lengths.cpu(), constants)

    def _flatten(self) -> Self:
        """Return the distribution with all batch axes merged into one."""
        flat = self._arguments()
        first, last = len(self.scores), len(self.scores) + 1 + len(self.constants)
        return self._rebuilt(flat[:first], flat[first], flat[first + 1 : last])

    def _apply(self, function: Callable[..., Any], events: Tensor, *options: Any, axes: int) -> Any:
        """Call a function of `strukt.structures.events` for events with any number of leading axes.

        Args:
            function: A function of ``(events, lengths, *options)`` that expects one leading axis in each tensor,
                and returns a tensor or a tuple of tensors, with the same leading axis.
            events: ``sample_shape + batch + event_shape``.
            options: Further arguments of the function; tensors must have the batch axes first.
            axes: The number of axes of one event.

        Returns:
            The function's results, with the leading axes ``sample_shape + batch`` restored.
        """
        leading = events.shape[: events.dim() - axes]
        if len(leading) == 1 and leading == self.batch_shape:
            return function(events, self.lengths, *options)
        leading = arguments.broadcast_shapes(leading, self.batch_shape)
        rows, shape = math.prod(leading), events.shape[events.dim() - axes :]

        def flat(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            trailing = value.shape[len(self.batch_shape) :]
            return value.expand(leading + trailing).reshape(rows, *trailing)

        flat_events = events.expand(leading + shape).reshape(rows, *shape)
        result = function(flat_events, *map(flat, (self.lengths, *options)))
        if isinstance(result, tuple):
            return tuple(each.reshape(leading + each.shape[1:]) for each in result)
        return result.reshape(leading + result.shape[1:])

    def _batch_size(self) -> int:
        """Return the number of items of the batch."""
        return math.prod(self.batch_shape)

    def _arguments(self) -> tuple[Any, ...]:
        """Return the arguments of the oracles: scores, lengths, constants and options, with one batch axis.

        The batch axis of scores that all items share has size 1.
        """
        return (*self._flat_scores(), *self._integers(), *self.options)

    def _flat_scores(self) -> list[Tensor]:
        """Return the scores with one batch axis, of size 1 for scores that all items share."""
        one_axis, batch = len(self.batch_shape) == 1, self._batch_size()
        flat = []
        for index, (score, dim) in enumerate(zip(self.scores, self._part_axes, strict=True)):
            if one_axis and score.dim() == dim + 1 and score.shape[0] in (1, batch):
                flat.append(score)  # the usual case costs nothing
                continue
            batched, parts = _split_shape(score, dim)
            if index and batched.numel() == 1:
                flat.append(score.reshape(1, *parts))
            else:
                flat.append(score.expand(self.batch_shape + parts).reshape(batch, *parts))
        return flat

    def _integers(self) -> list[Tensor]:
        """Return lengths and constants with one batch axis."""
        dim = len(self.batch_shape)
        if dim == 1:
            return [self.lengths, *self.constants]
        return [
            value.reshape(self._batch_size(), *value.shape[dim:]) for value in (self.lengths, *self.constants)
        ]

    def _to_batch(self, flat: Tensor) -> Tensor:
        """Return a result of the oracles with the batch axes of the distribution in place of one."""
        if len(self.batch_shape) == 1:
            return flat
        return flat.reshape(self.batch_shape + flat.shape[1:])

    @property
    def _part_axes(self) -> tuple[int, ...]:
        """The number of part axes of each score tensor."""
        return tuple(map(len, self.extents))


def _split_shape(score: Tensor, dim: int) -> tuple[torch.Size, torch.Size]:
    """Split the shape of a score tensor into batch axes and ``dim`` part axes."""
    return score.shape[: score.dim() - dim], score.shape[score.dim() - dim :]
