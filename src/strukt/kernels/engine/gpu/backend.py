"""The oracles of table programs for tensors on a GPU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores, as_tuple
from strukt.kernels.engine.arguments import ArgumentsMixin
from strukt.kernels.engine.gpu import values
from strukt.kernels.engine.gpu.charts import Growth, Numbers
from strukt.kernels.engine.gpu.rounding import Up, bound, rounded
from strukt.kernels.engine.gpu.tables import Tables
from strukt.kernels.engine.program import Program

if TYPE_CHECKING:
    from strukt.kernels.engine.gpu.run import Run


MOST_TERMS = 1 << 22
"""The largest number of terms of a table; larger ones take too long to build."""


class Gpu(ArgumentsMixin, ABC):
    """The backend of a structure whose recursion is a table for items of all sizes.

    Args:
        build: ``build(*sizes)`` writes the program of the largest items.
        cells: ``cells(*sizes)`` returns an upper bound on the number of its cells; sizes may be symbolic.

    Every method takes the tensors of scores ``(batch, ...)``, lengths ``(batch,)`` and the structure's other
    arguments. Nothing synchronises with the device.
    """

    scored_terms = True
    """True if the uses of weights of single terms are needed; False if these are constants."""

    any_scores = True
    """True if scores of any size are exact, so that none must go to the reference."""

    def __init__(self, build: Callable[..., Program], cells: Callable[..., int]) -> None:
        self.tables = Tables(build, self.scored_terms)
        self._cells = cells

    def fits(self, *arguments: Any) -> bool:
        """Return True if the scores are not empty, and their table is not too large; see `dispatch.select`."""
        scores = arguments[: self.scores]
        lengths = next(place for place, each in enumerate(arguments) if not each.is_floating_point())
        options = arguments[lengths + 1 :]
        some = scores[0].numel() > 0 and self._sizes(scores, options, bound)[0] > 0
        return some and self._terms(scores[0], options) <= MOST_TERMS

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        """Return the shape of the chart as an array of float64, ``(batch, size)``."""
        scores, _, options = self._split(arguments)
        return len(scores[0]), width(self.most_cells(scores, options), scores[0].dtype)

    def most_cells(self, scores: Sequence[Tensor], options: Sequence[Any]) -> int:
        """Return an upper bound on the number of cells of the table; sizes may be symbolic."""
        return self._cells(*self._sizes(scores, options, bound))

    def inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the log-partition ``(batch,)`` and the chart."""
        result, chart = self._run(*self._split(arguments)).inside()
        return result, chart.memory

    def outside(self, *arguments: Any) -> Tensor | Scores:
        """Return the probability of each part, times the factor of its item, in the shape of the scores.

        The last arguments are the factors ``(batch,)`` and the chart of `inside`.
        """
        scores, lengths, (*options, factors, memory) = self._split(arguments)
        run = self._run(scores, lengths, options)
        around = run.outside(run.numbers(memory), factors, keep=False)
        return self._parted(self._at_places(around.parts, run), scores, options)

    def derivative(self, *arguments: Any) -> tuple[Tensor, ...]:
        """Return gradients of <`outside`, directions> with respect to the scores and the factors.

        The last arguments are the factors ``(batch,)``, a direction for each tensor of scores, and the chart.
        """
        scores, lengths, (*rest, memory) = self._split(arguments)
        (*options, factors), directions = rest[: -self.scores], rest[-self.scores :]
        run = self._run(scores, lengths, options)
        chart, moves = run.numbers(memory), self._moves(scores, directions, options)
        grown = run.grow(chart, _of_weights(run, moves), None, surprise=False)
        changed = self._changes(run, chart, factors, grown, scores, directions, options)
        return (*as_tuple(changed), grown.total.to(factors.dtype))

    def entropy(self, *arguments: Any) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        scores, lengths, options = self._split(arguments)
        return self._surprise(scores, scores, lengths, options)[-1].total.to(scores[0].dtype)

    def surprise(self, *arguments: Any) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q], q the distribution of the other scores."""
        scores, other, lengths, options = self._split_both(arguments)
        return self._surprise(scores, other, lengths, options)[-1].total.to(scores[0].dtype)

    def entropy_gradient(self, *arguments: Any) -> Tensor | Scores:
        """Return the gradient of the entropies times factors; the last argument is the factors, ``(batch,)``."""
        scores, lengths, (*options, factors) = self._split(arguments)
        return self._surprise_gradient(scores, scores, lengths, options, factors)

    def surprise_gradient(self, *arguments: Any) -> Tensor | Scores:
        """Return the gradient of cross-entropies times factors with respect to the first scores.

        The last argument is the factors, ``(batch,)``.
        """
        scores, other, lengths, (*options, factors) = self._split_both(arguments)
        return self._surprise_gradient(scores, other, lengths, options, factors)

    def max_marginals(self, *arguments: Any) -> Tensor | Scores:
        """Return, for each part, the best score of a structure that uses it, in the shape of the scores."""
        scores, lengths, options = self._split(arguments)
        run = self._run(scores, lengths, options, self._best(scores, options))
        weights = run.max_marginals()
        places = run.table.places.expand(weights.shape)
        result = weights.new_full(run.place_scores.shape, -torch.inf).scatter_reduce_(1, places, weights, "amax")
        return self._best_parted(result, scores, options)

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, *event)`` and its score ``(batch,)``; -1 and -inf if there is none."""
        scores, lengths, options = self._split(arguments)
        run = self._run(scores, lengths, options, self._best(scores, options))
        used, result = run.best_weights()
        return self._events(self._at_places(used, run), scores, options, values.best)[:, 0], result

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, *event)`` and their scores ``(batch, k)``; k is the last argument.

        If there are fewer structures, events are padded with -1 and scores with -inf. All is computed in float64,
        as on the CPU.
        """
        inputs, lengths, (*options, k) = self._split(arguments)
        scores = [score.double() for score in inputs]
        run = self._run(scores, lengths, options, self._best(scores, options))
        used, result = run.kbest_weights(k, self._features(scores))
        events = self._events(self._at_places(used, run), scores, options, values.searched)
        return events, result.to(inputs[0].dtype)

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return exact samples ``(batch, count, *event)`` and the log-partition ``(batch,)``.

        The last argument is the count. Samples are -1 if there is no structure.
        """
        scores, lengths, (*options, count) = self._split(arguments)
        run = self._run(scores, lengths, options)
        result, chart = run.inside()
        used = run.drawn_weights(chart, count)
        return self._events(self._at_places(used, run), scores, options, values.drawn), result

    # The layout of scores, which subclasses implement.

    @abstractmethod
    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        """Return the arguments that build the program of the largest possible items.

        If items have so many sizes that a table for each would be costly, ``up`` is applied to them.
        """

    @abstractmethod
    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        """Return the approximate number of terms of the table for such main scores."""

    @abstractmethod
    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        """Return the index of each item's size in `Program.ends`; negative for a single empty structure."""

    @abstractmethod
    def _places(self, scores: Sequence[Tensor]) -> Sequence[int]:
        """Return the sizes of the axes of places of the main scores."""

    @abstractmethod
    def _place_scores(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        """Return the log of the weight of each place, ``(batch, places)``."""

    @abstractmethod
    def _parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        """Return the uses of each score, from those of places, ``rows (batch, places)``."""

    @abstractmethod
    def _events(
        self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], namer: values.Namer
    ) -> Tensor:
        """Return the events of structures ``(batch, count, *event)``.

        ``used (batch, count, places)`` marks the places of their weights; ``namer`` returns the codes of values.
        """

    def _best(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        """Return the best score of each place, ``(batch, places)``."""
        return self._place_scores(scores, options)

    def _best_parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        """Return the max-marginals of scores, from those of places, ``rows (batch, places)``."""
        return self._parted(rows, scores, options)

    def _moves(self, scores: Sequence[Tensor], directions: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        """Return the derivative of the log of the weight of each place along directions of the scores.

        It is ``(batch, places)``.
        """
        return self._place_scores(directions, options)

    def _changed(
        self, changes: Tensor, used: Tensor, scores: Sequence[Tensor], directions: Sequence[Tensor] | None,
        options: Sequence[Any],
    ) -> Tensor | Scores:  # fmt: skip
        """Return the derivative of the uses of each score along directions of the scores.

        ``changes`` is that of the uses of each place, and ``used`` are these uses, ``(batch, places)`` each.
        """
        return self._parted(changes, scores, options)

    def _features(self, scores: Sequence[Tensor]) -> Tensor | None:
        """Return the scores of values ``(batch, places, features, values)``; None if places have no values."""
        return None

    def _value_surprises(self, scores: Sequence[Tensor], other: Sequence[Tensor]) -> Scores | None:
        """Return the surprise of each value under other scores; None if places have no values."""
        return None

    # Shared by all layouts.

    def _run(
        self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any], place_scores: Tensor | None = None
    ) -> Run:
        """Return the launches for these items; ``place_scores`` are those of `_place_scores` if None."""
        from strukt.kernels.engine.gpu.run import Run  # needs Triton

        sizes = self._sizes(scores, options)
        table = self.tables.get(sizes, self._places(scores), scores[0].device)
        place_scores = self._place_scores(scores, options) if place_scores is None else place_scores
        capacity = width(self.most_cells(scores, options), place_scores.dtype)
        return Run(table, self._index(scores, lengths, options), place_scores, capacity)

    def _at_places(self, weights: Tensor, run: Run) -> Tensor:
        """Return numbers of weights at their places, summed if several weights have one place."""
        result = weights.new_zeros(*weights.shape[:-1], run.place_scores.shape[1])
        if run.table.distinct:
            return result.index_copy_(-1, run.table.places, weights)
        return result.index_add_(-1, run.table.places, weights)

    def _surprise(
        self, scores: Sequence[Tensor], other: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]
    ) -> tuple[Run, Numbers, Scores | None, Growth]:
        """Return the run of the scores, its chart, the surprises of values, and the growth of cells by surprises.

        Surprises are those under the other scores, which are ``scores`` itself for entropies.
        """
        run = self._run(scores, lengths, options)
        _, chart = run.inside()
        theirs = None
        if other is not scores:
            others = self._run(other, lengths, options)
            theirs = others, others.inside()[1]
        moves = self._value_surprises(scores, other)
        if moves is None:
            direction = run.place_scores.new_zeros(run.batch, run.count)
        else:
            direction = _of_weights(run, self._moves(scores, moves, options))
        return run, chart, moves, run.grow(chart, direction, theirs, surprise=True)

    def _surprise_gradient(
        self, scores: Sequence[Tensor], other: Sequence[Tensor], lengths: Tensor, options: Sequence[Any],
        factors: Tensor,
    ) -> Tensor | Scores:  # fmt: skip
        """Return the gradients of cross-entropies times factors with respect to the first scores."""
        run, chart, moves, grown = self._surprise(scores, other, lengths, options)
        return self._changes(run, chart, factors, grown, scores, moves, options)

    def _changes(
        self, run: Run, chart: Numbers, factors: Tensor, grown: Growth, scores: Sequence[Tensor],
        directions: Sequence[Tensor] | None, options: Sequence[Any],
    ) -> Tensor | Scores:  # fmt: skip
        """Return the derivatives of `outside` along the directions of which ``grown`` is the growth."""
        around = run.outside(chart, factors, keep=True)
        result = self._at_places(run.change(chart, around, grown), run)
        return self._changed(result, self._at_places(around.parts, run), scores, directions, options)


def width(cells: int, dtype: torch.dtype) -> int:
    """Return the number of float64 numbers that hold the mantissas and exponents of the cells."""
    return cells if dtype == torch.float32 else 2 * cells


def _of_weights(run: Run, rows: Tensor) -> Tensor:
    """Return numbers of places, ``rows (batch, places)``, for each weight, ``(batch, weights)``."""
    return rows.index_select(1, run.table.places)
