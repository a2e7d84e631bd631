"""Table programs in PyTorch, for devices without kernels: a few operations compute each stage.

The references of structures are differentiated by autograd, and take up to a hundred operations for each word of
an item. Here each stage takes three for its sums, and two for its part of the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores, alone, as_tuple
from strukt.kernels.engine.array_cache import ArrayCache
from strukt.kernels.engine.gpu.backend import Gpu
from strukt.kernels.engine.plan import CONSTANTS, ONE, ZERO, Plan, Stage, plan_of
from strukt.kernels.semiring import NEG_INF, precise


class Executor:
    """A backend that computes log-partitions and marginals on any device, for batches with items of mixed sizes.

    Totals are logs, in float64 as in the reference. The chart holds the totals of all sums.

    Args:
        layout: The backend for GPUs with the recursion. Its tables, its limits of size and its layout of scores
            are used, not its kernels.
    """

    any_scores = True
    """True, since no score is too large."""

    def __init__(self, layout: Gpu) -> None:
        self._layout = layout
        self._plans: ArrayCache[Plan] = ArrayCache()
        self.fits = layout.fits

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        """Return the shape of the chart, ``(batch, cells)``.

        It has one column more than that of kernels, so that neither reads a chart of the other.
        """
        scores, _, options = self._layout._split(arguments)
        return len(scores[0]), self._layout.most_cells(scores, options) + 1

    @torch.no_grad()
    def inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the log-partition ``(batch,)`` and the chart."""
        scores, _, step = self._step(arguments)
        result, chart = step.inside(), scores[0].new_zeros(self.chart_shape(*arguments))
        totals = step.plan.totals
        chart[:, : len(totals)] = step.memory.index_select(0, totals).T
        return result.to(arguments[0].dtype), chart

    @torch.no_grad()
    def outside(self, *arguments: Any) -> Tensor | Scores:
        """Return the probability of each part, times the factor of its item, in the shape of the scores.

        The last arguments are the factors ``(batch,)`` and the chart of `inside`.
        """
        *inputs, factors, chart = arguments
        scores, options, step = self._step(inputs)
        totals, places = step.plan.totals, step.plan.places
        step.memory.index_copy_(0, totals, chart[:, : len(totals)].T)
        uses = step.outside(factors)
        rows = uses.new_zeros(step.places).index_add_(1, places, uses)
        parts = as_tuple(self._layout._parted(rows, scores, options))
        return alone(tuple(part.to(factors.dtype) for part in parts))

    def _step(self, arguments: Sequence[Any]) -> tuple[list[Tensor], Sequence[Any], _Step]:
        """Return the scores converted by `precise`, the options, and the `_Step` of the batch."""
        layout, (inputs, lengths, options) = self._layout, self._layout._split(arguments)
        scores = [precise(score) for score in inputs]
        sizes, shape, device = layout._sizes(scores, options), layout._places(scores), scores[0].device

        def make() -> Plan:
            return plan_of(layout.tables.build(*sizes), shape, device)

        plan = self._plans.get((*sizes, *shape, device), make)
        index = layout._index(scores, lengths, options)
        return scores, options, _Step(plan, layout._place_scores(scores, options), index)


class _Step:
    """The memory of a batch and the operations on it; its first axis is that of numbers, its second the batch.

    Args:
        plan: The plan of the recursion.
        place_scores: ``(batch, places)``, the logs of weights.
        index: ``(batch,)``, the index of each item's size; negative for the single empty structure.
    """

    def __init__(self, plan: Plan, place_scores: Tensor, index: Tensor) -> None:
        self.plan = plan
        self.places = place_scores.shape
        weights = place_scores.T.index_select(0, plan.places).masked_fill_(plan.needs[:, None] > index, 0.0)
        self._base = CONSTANTS + len(weights)
        self.memory = weights.new_empty(self._base + len(plan.factors), len(index))
        self.memory[ZERO], self.memory[ONE] = NEG_INF, 0.0
        self.memory[CONSTANTS : self._base] = weights
        self._width = plan.factors.shape[1]
        self._end_factors = plan.ends[index + 1].permute(1, 2, 0)  # (terms, width, batch)

    def inside(self) -> Tensor:
        """Fill the memory with the totals of sums, and return the log-partitions of the items, ``(batch,)``."""
        for stage in self.plan.stages:
            factors = self.memory.index_select(0, self._factors_of(stage))
            terms = factors.view(stage.sums, stage.terms, self._width, -1).sum(2)
            torch.logcumsumexp(terms, 1, out=_part(self.memory[self._base :], stage))
        return self._ends().logcumsumexp(0)[-1]

    def outside(self, factors: Tensor) -> Tensor:
        """Return the uses of weights times the factors ``(batch,)`` of items, ``(batch, weights)``.

        The memory must already hold the totals, from `inside`.
        """
        uses, ends, shares = torch.zeros_like(self.memory), self._ends(), self._shares()
        of_ends = _shares(ends, ends.logcumsumexp(0)[-1]) * factors
        uses.scatter_add_(0, self._end_factors.flatten(0, 1), _repeated(of_ends, self._width).flatten(0, 1))
        for stage in reversed(self.plan.stages):
            used = _part(uses[self._base :], stage)[:, -1:, None]
            each = _repeated(_part(shares, stage), self._width) * used
            uses.index_add_(0, self._factors_of(stage), each.flatten(0, 2))
        return uses[CONSTANTS : self._base].T

    def _factors_of(self, stage: Stage) -> Tensor:
        """Return the places of the factors of the terms of a stage, ``(terms * width,)``, term by term."""
        return self.plan.factors[stage.first : stage.last].flatten()

    def _ends(self) -> Tensor:
        """Return the logs of the terms of the total of each item, ``(terms, batch)``."""
        return self.memory.gather(0, self._end_factors.flatten(0, 1)).view(self._end_factors.shape).sum(1)

    def _shares(self) -> Tensor:
        """Return the share of each term in its sum, ``(terms, batch)``."""
        first, *others = self.plan.factors.T
        terms = self.memory.index_select(0, first)
        for column in others:
            terms += self.memory.index_select(0, column)
        return _shares(terms, self.memory.index_select(0, self.plan.sums))


def _part(values: Tensor, stage: Stage) -> Tensor:
    """Return a view of the terms of a stage, ``(sums, terms, batch)``, among those of all, ``(terms, batch)``."""
    return values[stage.first : stage.last].view(stage.sums, stage.terms, -1)


def _repeated(values: Tensor, width: int) -> Tensor:
    """Return numbers of terms ``(..., batch)`` once for each factor, as a view ``(..., width, batch)``."""
    return values.unsqueeze(-2).expand(*values.shape[:-1], width, values.shape[-1])


def _shares(terms: Tensor, totals: Tensor) -> Tensor:
    """Return the shares of terms in totals, both as logs; 0 where a total is -inf, or NaN as in padding."""
    return (terms - totals).exp_().masked_fill_((totals > NEG_INF).logical_not_(), 0.0)
