"""Operators that the table program of any recursion provides, on the CPU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores, as_tuple
from strukt.kernels.engine import chosen, items
from strukt.kernels.engine.arguments import ArgumentsMixin
from strukt.kernels.engine.groups import EXTENDED_RING, Groups, by_ring, of_kind, on_items
from strukt.kernels.engine.items import EXTENDED, PLAIN
from strukt.kernels.engine.tables import Tables
from strukt.kernels.memory import empty


class TableOperators(ArgumentsMixin, ABC):
    """Entropies, derivatives of marginals, and max-marginals, for any layout of scores.

    Every method takes the tensors of scores ``(batch, ...)``, lengths ``(batch,)`` and the structure's other
    arguments. Items run in parallel.
    """

    tables: Tables

    any_scores = True
    """True if results are exact for scores of any size, so that the reference need not compute large ones."""

    def derivative(self, *arguments: Any) -> tuple[Tensor, ...]:
        """Return gradients of <`outside`, directions> with respect to the scores and the factors.

        The last arguments are the factors ``(batch,)``, a direction for each tensor of scores, and the chart.
        """
        scores, lengths, (*rest, chart) = self._split(arguments)
        (*options, factors), directions = rest[: -self.scores], rest[-self.scores :]
        rows = self._joined(scores, options)
        grads, factor_grads = zeros(rows), np.zeros(len(lengths))
        arrays = (doubles_of(factors), self._directions(directions, options), grads, factor_grads)
        self._run_rings(items.hessians, scores, lengths, options, rows, chart, *arrays)
        parts = self._parted(grads, scores, options)
        return (*as_tuple(parts), result(factor_grads, factors))

    def entropy(self, *arguments: Any) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        scores, lengths, options = self._split(arguments)
        result, _ = self._surprise(scores, None, lengths, options, None)
        return torch.from_numpy(result).to(scores[0].dtype)

    def surprise(self, *arguments: Any) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q], q the distribution of the other scores."""
        scores, other, lengths, options = self._split_both(arguments)
        result, _ = self._surprise(scores, other, lengths, options, None)
        return torch.from_numpy(result).to(scores[0].dtype)

    def entropy_gradient(self, *arguments: Any) -> Tensor | Scores:
        """Return the gradient of the entropies times factors; the last argument is the factors, ``(batch,)``."""
        scores, lengths, (*options, factors) = self._split(arguments)
        return self._parted(self._surprise(scores, None, lengths, options, factors)[1], scores, options)

    def surprise_gradient(self, *arguments: Any) -> Tensor | Scores:
        """Return the gradient of cross-entropies times factors with respect to the first scores.

        The last argument is the factors, ``(batch,)``.
        """
        scores, other, lengths, (*options, factors) = self._split_both(arguments)
        return self._parted(self._surprise(scores, other, lengths, options, factors)[1], scores, options)

    def max_marginals(self, *arguments: Any) -> Tensor | Scores:
        """Return, for each part, the best score of a structure that uses it, in the shape of the scores."""
        scores, lengths, options = self._split(arguments)
        result = self._bounds(scores, self._joined(scores, options), lengths, options)
        return self._best_parted(result, scores, options)

    def max_marginals_gradient(self, *arguments: Any) -> Tensor | Scores:
        """Return the sum of the parts of the structures that attain the main max-marginals, times factors.

        The last argument is the factors, one for each max-marginal, in the shape of the main scores.
        """
        scores, lengths, (*options, factors) = self._split(arguments)
        rows = self._joined(scores, options)
        groups, grads = self._groups(scores, lengths, options), zeros(rows)
        rows_of_factors = self._joined_factors(factors, rows, scores, lengths, options)
        on_items(chosen.max_marginals_gradient, groups, rows, rows_of_factors, grads)
        return self._parted(grads, scores, options)

    def _bounds(
        self, scores: Sequence[Tensor], rows: Array, lengths: Tensor, options: Sequence[Any]
    ) -> Array:
        """Return, for each score, the best score of a structure that uses it, in the layout of `_joined`."""
        result = np.full(rows.shape, -np.inf)
        on_items(chosen.max_marginals, self._groups(scores, lengths, options), rows, result)
        return result

    def _joined_factors(
        self, factors: Tensor, rows: Array, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]
    ) -> Array:
        """Return factors of main max-marginals in the layout of `_joined`; those of other scores are 0."""
        none = [torch.zeros_like(score) for score in scores[1:]]
        return self._joined([factors, *none], options).copy()

    @abstractmethod
    def _joined(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Array:
        """Return scores as an array ``(batch, places)``, or ``(batch, places, features, values)``.

        The latter is for weights that are sums over values (`strukt.kernels.engine.features`).
        """

    @abstractmethod
    def _places(self, main: Tensor) -> Sequence[int]:
        """Return the sizes of the axes of places of the main scores."""

    def _directions(self, directions: Sequence[Tensor], options: Sequence[Any]) -> Array:
        """Return directions of the scores in the layout of `_joined`."""
        return self._joined(directions, options)

    def _parted(self, rows: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        """Return an array in the layout of `_joined` as tensors in the shapes and types of the scores."""
        return result(rows, scores[0])

    def _best_parted(self, rows: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        """Return max-marginals in the layout of `_joined` as tensors in the shapes and types of the scores."""
        return self._parted(rows, scores, options)

    def _sizes(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the arguments that build the program of each item, its length first."""
        return [(n, *options) for n in lengths.tolist()]

    def _groups(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Groups:
        """Return the table of each size with the indices of its items."""
        by_size: dict[tuple[Any, ...], list[int]] = {}
        for item, size in enumerate(self._sizes(scores, lengths, options)):
            by_size.setdefault(size, []).append(item)
        shape = self._places(scores[0])
        return [(self.tables.get(n, more, shape), np.array(each)) for (n, *more), each in by_size.items()]

    def _run_rings(
        self, kernel: Callable[..., None], scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any],
        rows: Array, chart: Tensor, *arrays: Array,
    ) -> None:  # fmt: skip
        """Call a kernel on all possible items in their rings."""
        groups, charts = self._groups(scores, lengths, options), chart.numpy()
        for each, ring in by_ring(groups, charts[:, 0]):
            on_items(kernel, each, ring, rows, charts, *arrays)

    def _surprise(
        self, scores: Sequence[Tensor], other: Sequence[Tensor] | None, lengths: Tensor, options: Sequence[Any],
        factors: Tensor | None,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return cross-entropies ``(batch,)``, entropies if ``other`` is None, and their gradients times factors.

        The gradients are in the layout of `_joined`, without rows if ``factors`` is None.
        """
        groups, rows = self._groups(scores, lengths, options), self._joined(scores, options)
        result, kinds = np.zeros(len(lengths)), np.full(len(lengths), PLAIN)
        grads = zeros(rows) if factors is not None else rows[:0]
        scale = doubles_of(factors) if factors is not None else np.empty(0)
        others = self._joined(other, options) if other is not None else rows[:0]
        arguments = (rows, others, scale, kinds, result, grads)
        on_items(items.surprises, of_kind(groups, kinds, PLAIN), None, *arguments)
        on_items(items.surprises, of_kind(groups, kinds, EXTENDED), EXTENDED_RING, *arguments)
        return result, grads


def doubles_of(tensor: Tensor) -> Array:
    """Return a tensor as a contiguous array of float64, the only type for kernels on rows of single scores."""
    return np.ascontiguousarray(numpy_of(tensor), np.float64)


def zeros(rows: Array) -> Array:
    """Return zeros in the shape and type of ``rows``, to which kernels add."""
    result = empty(rows.shape, rows.dtype)
    result.fill(0.0)
    return result


def numpy_of(tensor: Tensor) -> Array:
    """Return a tensor as a contiguous array, without derivatives; half types become float32."""
    tensor = tensor.detach().contiguous()
    return (tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor).numpy()


def result(array: Array, like: Tensor) -> Tensor:
    """Return an array as a tensor in the shape and type of another."""
    return torch.from_numpy(np.ascontiguousarray(array).reshape(like.shape)).to(like.dtype)
