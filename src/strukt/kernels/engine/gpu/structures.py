"""Layouts of the scores of structures for their table programs on a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores, alone, as_tuple
from strukt.kernels.engine.gpu.backend import Gpu
from strukt.kernels.engine.gpu.rounding import Up, rounded
from strukt.kernels.engine.gpu.values import Namer
from strukt.kernels.engine.program import Program
from strukt.kernels.engine.rows import padded, reduced, views, within


class Trees(Gpu):
    """The backend of a structure with one tensor of scores ``(batch, *places)`` or ``(batch, *places, values)``.

    Args:
        build: ``build(n, *options)`` writes the program of items of length n >= 1.
        cells: ``cells(*places, *options)`` returns an upper bound on the number of its cells.
        more: The size of the first axis of places minus the length of the items.
        event_dim: The number of axes of places that an event has.
    """

    def __init__(
        self, build: Callable[..., Program], cells: Callable[..., int], more: int = 0, event_dim: int = 1
    ) -> None:
        super().__init__(build, lambda n, *options: cells(n + more, n + more, *options))
        self._more = more
        self._event_dim = event_dim

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        return (scores[0].shape[1] - self._more, *options)

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        return main.shape[1] ** 3 // 2

    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        return lengths - 1

    def _places(self, scores: Sequence[Tensor]) -> Sequence[int]:
        return scores[0].shape[1:3]

    def _place_scores(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        values = self._values(scores)
        return (scores[0] if values is None else values.logsumexp(-1).sum(-1)).flatten(1)

    def _best(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        values = self._values(scores)
        return (scores[0] if values is None else values.amax(-1).sum(-1)).flatten(1)

    def _parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        values, rows = self._values(scores), self._placed(rows, scores)
        return rows if values is None else self._unbound(rows[..., None, None] * _shares(values))

    def _best_parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        values, rows = self._values(scores), self._placed(rows, scores)
        if values is None:
            return rows
        rows, best = rows[..., None, None], values.amax(-1, keepdim=True)
        impossible = (rows == -torch.inf) | (values == -torch.inf)  # others may be padding
        return self._unbound(torch.where(impossible, -torch.inf, rows + (values - best)))

    def _moves(self, scores: Sequence[Tensor], directions: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        values, moves = self._values(scores), self._values(directions)
        if values is None or moves is None:
            return directions[0].flatten(1)
        return _expected(_shares(values), moves).sum((-1, -2)).flatten(1)

    def _changed(
        self, changes: Tensor, used: Tensor, scores: Sequence[Tensor], directions: Sequence[Tensor] | None,
        options: Sequence[Any],
    ) -> Tensor | Scores:  # fmt: skip
        values = self._values(scores)
        if values is None or directions is None:
            return self._placed(changes, scores)
        shares, moves = _shares(values), self._values(directions)
        expected = _expected(shares, moves)
        turned = expected - shares * expected.sum(-1, keepdim=True)
        changes, used = (self._placed(each, scores)[..., None, None] for each in (changes, used))
        return self._unbound(changes * shares + torch.where(used != 0, used * turned, 0.0))

    def _features(self, scores: Sequence[Tensor]) -> Tensor | None:
        values = self._values(scores)
        return None if values is None else values.flatten(1, 2)

    def _value_surprises(self, scores: Sequence[Tensor], other: Sequence[Tensor]) -> Scores | None:
        values = self._values(other)
        if values is None:
            return None
        return as_tuple(self._unbound(-values.log_softmax(-1)))

    def _events(self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], namer: Namer) -> Tensor:
        n, event_shape = scores[0].shape[1], scores[0].shape[1 : 1 + self._event_dim]
        # A structure uses one place for each word, or each span of a tree; in short items, other marks are 0.
        some, place = used.topk(n if self._event_dim == 1 else 2 * (n - 1) - 1, -1)
        alternatives = math.prod(scores[0].shape[1 + self._event_dim : 3])
        features = self._features(scores)
        named = [place % alternatives] if self._event_dim == 1 or features is None else []
        if features is not None:
            named.append(namer(features, some, place))
        events = [used.new_full((*used.shape[:2], math.prod(event_shape)), -1, dtype=torch.int64) for _ in named]
        for event, name in zip(events, named, strict=True):
            event.scatter_reduce_(-1, place // alternatives, torch.where(some > 0, name, -1), "amax")
        shaped = [event.reshape(*used.shape[:2], *event_shape) for event in events]
        return shaped[0] if len(shaped) == 1 else torch.stack(shaped, -1)

    def _placed(self, rows: Tensor, scores: Sequence[Tensor]) -> Tensor:
        """Reshape rows ``(batch, places)`` to ``(batch, *places)``."""
        return rows.reshape(scores[0].shape[:3])

    def _values(self, scores: Sequence[Tensor]) -> Tensor | None:
        """Return the scores of the values of each feature of a place, ``(batch, *places, features, values)``."""
        return None if scores[0].dim() == 3 else scores[0].unsqueeze(-2)

    def _unbound(self, values: Tensor) -> Tensor | Scores:
        """Return a tensor in the layout of `_values` as tensors in the layout of the scores."""
        return values.squeeze(-2).contiguous()


class Codes(Trees):
    """The backend of a structure with two tensors ``(batch, *places, bits)``, scores of 1 and of 0 of each bit."""

    scores = 2

    def _values(self, scores: Sequence[Tensor]) -> Tensor:
        positive, negative = scores
        return torch.stack([negative, positive], -1)

    def _unbound(self, values: Tensor) -> Scores:
        negative, positive = values.unbind(-1)
        return positive.contiguous(), negative.contiguous()


def _shares(scores: Tensor) -> Tensor:
    """Return the share of each value in its feature, ``(..., features, values)``; 0 if all are forbidden."""
    return torch.nan_to_num(scores.softmax(-1), nan=0.0)


def _expected(shares: Tensor, values: Any) -> Tensor:
    """Return values times their shares, and 0 where the share is 0, whatever the value."""
    return torch.where(shares > 0, shares * values, 0.0)


class Rows(Gpu):
    """The backend of a structure with several tensors of scores ``(batch, ...)``, concatenated in a row.

    Several consecutive items may share an entry of all tensors but the first.

    Args:
        build: ``build(n, *options, *shapes)`` writes the program of the largest items, given the shapes of the
            tensors without the batch.
        cells: ``cells(*options, *shapes)`` returns an upper bound on the number of its cells.
        scores: The number of tensors, main scores first; an event has all axes of the main scores but the last.
        power: The number of terms grows with the length n as ``n ** power``.
        more: The size of the first axis of the main scores minus the length of the items.
    """

    def __init__(
        self, build: Callable[..., Program], cells: Callable[..., int], scores: int, power: int, more: int = 0
    ) -> None:
        super().__init__(build, lambda _, *sizes: cells(*sizes))
        self.scores = scores
        self._power, self._more = power, more

    def _shapes(self, scores: Sequence[Tensor], up: Up = rounded) -> Sequence[Sequence[int]]:
        """Return the shape that each tensor of scores has in the row of an item; see `_sizes`."""
        return [tuple(score.shape[1:]) for score in scores]

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        return (scores[0].shape[1] - self._more, *options, *self._shapes(scores, up))

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        return int((main.shape[1] - self._more) ** self._power)

    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        return lengths - 1

    def _places(self, scores: Sequence[Tensor]) -> Sequence[int]:
        return (1,)

    def _place_scores(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return padded(scores, self._shapes(scores))

    def _parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        return self._reduced(rows, scores, torch.sum)

    def _best_parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        return self._reduced(rows, scores, torch.amax)

    def _reduced(
        self, rows: Tensor, scores: Sequence[Tensor], reduce: Callable[..., Tensor]
    ) -> Tensor | Scores:
        """Return rows ``(batch, places)`` in the shapes of the scores.

        The function ``reduce`` is that of `reduced`.
        """
        result = []
        for part, score in zip(views(rows, self._shapes(scores)), scores, strict=True):
            each = reduced(within(part, score.shape[1:]), score, reduce)
            result.append(torch.empty_like(score, dtype=rows.dtype).copy_(each))
        return alone(tuple(result))

    def _events(self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], namer: Namer) -> Tensor:
        used = within(views(used, self._shapes(scores))[0], scores[0].shape[1:])
        return torch.where(used.amax(-1) > 0, used.argmax(-1), -1)


class Pairs(Rows):
    """The backend of a structure with main scores ``(batch, ...)`` and scores of pairs, which items may share.

    Args:
        build: ``build(*lengths, shape, pairs)`` writes the program of the largest items, given the shapes of both
            tensors without the batch.
        cells: ``cells(*lengths, shape, pairs)`` returns an upper bound on the number of its cells.
        axes: The number of lengths of an item; those after the first are constants of the structure.
    """

    def __init__(self, build: Callable[..., Program], cells: Callable[..., int], axes: int = 1) -> None:
        Gpu.__init__(self, build, cells)
        self.scores, self._axes = 2, axes

    def _shapes(self, scores: Sequence[Tensor], up: Up = rounded) -> Sequence[Sequence[int]]:
        main, pairs = (tuple(score.shape[1:]) for score in scores)
        shape = (*map(up, main[: self._axes]), *main[self._axes :])
        *steps, rows, columns = pairs
        # An axis of one entry is shared by all boundaries; if there is one boundary only, no size is rounded.
        return [shape, (*(shape[0] - 1 if count > 1 else count for count in steps), rows, columns)]

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        shapes = self._shapes(scores, up)
        return (*shapes[0][: self._axes], *shapes)

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        return math.prod(main.shape[1:]) + math.prod(main.shape[1 : 1 + self._axes]) * main.shape[-1] ** 2

    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        if self._axes == 1:
            return lengths - 1
        (columns,) = options
        index = (lengths - 1) * (self._shapes(scores)[0][1] + 1) + columns
        # Two empty sequences have the empty path. The size at index 0 has no columns, and no path.
        return torch.where(lengths == 0, torch.where(columns == 0, -1, 0), index)

    def _events(self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], namer: Namer) -> Tensor:
        used = within(views(used, self._shapes(scores))[0], scores[0].shape[1:])
        if scores[0].dim() > 2 + self._axes:
            used = used.amax(-2)  # over the lengths of segments
        return torch.where(used.amax(-1) > 0, used.argmax(-1), -1)
