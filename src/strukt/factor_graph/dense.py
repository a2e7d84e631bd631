"""Dense factors: tables of scores over a few variables, or over a few groups of one-hot variables."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.factor_graph.factor import AnyFactor, folded, require_trailing
from strukt.factor_graph.oracles import Oracle
from strukt.factor_graph.soft import Places, Soft
from strukt.factor_graph.variables import Variables, VariablesLike, collect
from strukt.kernels.semiring import NEG_INF, finite, logsumexp
from strukt.kernels.undifferentiated import plain


class Dense(AnyFactor, Soft):
    """A table with a score for each assignment of a few variables; -inf forbids an assignment.

    Args:
        variables: k single variables, as an array with one axis or a list. Or groups of one-hot variables, as an
            array whose rows are the groups or a list of arrays with one axis: exactly one variable of each group
            is 1, which the factor enforces.
        table: ``batch + (2,) * k``, indexed by the values of the variables; for groups of m1, m2, ... variables
            ``batch + (m1, m2, ...)``, indexed by the position of the 1 in each group.

    All operators take time and memory O(t v) for t entries of the table and v variables, those of all groups.

    Raises:
        ValueError: If shapes or types do not fit, there are no variables, or they belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> x = graph.variables(2)
        >>> graph.add(Dense(x, torch.tensor([[0.0, -torch.inf], [1.0, 3.0]])))  # x[1] implies x[0]
        Dense over 2 variables
        >>> graph.enumerate(torch.zeros(2)).mode
        tensor([1, 1])
    """

    def __init__(self, variables: VariablesLike, table: Tensor) -> None:
        groups = _groups(variables)
        self.grouped = groups is not None
        super().__init__(collect(groups, "variables").flatten() if groups else variables)
        self.sizes = tuple(len(group) for group in groups) if groups else (2,) * self.variables.size
        require_trailing("table", table, self.sizes)
        self._table = table
        self.tensors = {"_table": len(self.sizes)}

    @property
    def table(self) -> Tensor:
        """The scores along one axis, ``batch + (entries,)``."""
        return folded(self._table, len(self.sizes))

    @property
    def assignments(self) -> Tensor:
        """The 0/1 assignments in the order of the table, ``(entries, size)``, with the table's device and type."""
        values = torch.from_numpy(np.stack(np.unravel_index(np.arange(self.table.shape[-1]), self.sizes), -1))
        if self.grouped:
            hot = [
                torch.nn.functional.one_hot(v, m) for v, m in zip(values.unbind(-1), self.sizes, strict=True)
            ]
            values = torch.cat(hot, -1)
        return values.to(self.table)

    def log_potential(self, assignments: Tensor) -> Tensor:
        places, permitted = self._places(assignments)
        k, (batch,) = len(places), arguments.broadcast_shapes(places.shape[1:], self.table.shape[:1])
        table = self.table.expand(batch, -1)
        result = (
            table.unsqueeze(0).expand(k, -1, -1).gather(-1, places.expand(k, batch).unsqueeze(-1)).squeeze(-1)
        )
        return torch.where(permitted, result, NEG_INF)

    def _places(self, assignments: Tensor) -> tuple[Tensor, Tensor]:
        """Return each assignment's index in the table, and a mask of the assignments with one 1 in each group.

        Assignments are ``(k, batch, size)``; the indices and the mask are ``(k, batch)``.
        """
        if self.grouped:
            parts = torch.split(assignments, list(self.sizes), -1)
            values = [part.argmax(-1) for part in parts]
            permitted = torch.stack([part.sum(-1) == 1 for part in parts]).all(0)
        else:
            values = list(assignments.long().unbind(-1))
            permitted = torch.ones_like(values[0], dtype=torch.bool)
        place = torch.zeros_like(values[0])
        for value, size in zip(values, self.sizes, strict=True):
            place = place * size + value
        return place, permitted

    def groups(self) -> list[Places]:
        if not self.grouped:
            return []
        return np.split(np.arange(self.variables.size), np.cumsum(self.sizes)[:-1])

    def cliques(self) -> list[Places]:
        return [np.arange(self.variables.size)]

    def expected(self, probabilities: Tensor) -> Tensor:
        return self._mean(self._alternatives(probabilities), None).squeeze(-1)

    def fields(self, probabilities: Tensor) -> Tensor:
        alternatives = self._alternatives(probabilities)
        fields = [self._mean(alternatives, axis) for axis in range(len(self.sizes))]
        if not self.grouped:
            fields = [field[:, 1:] - field[:, :1] for field in fields]
        return torch.cat(fields, -1)

    def is_finite(self) -> bool:
        return bool(self.table.isfinite().all())

    def _alternatives(self, probabilities: Tensor) -> list[Tensor]:
        """Return the probabilities of the values along each axis of the table, ``(batch, values)`` each."""
        if self.grouped:
            return list(torch.split(probabilities, list(self.sizes), -1))
        return [torch.stack([1 - p, p], -1) for p in probabilities.unbind(-1)]

    def _mean(self, alternatives: list[Tensor], kept: int | None) -> Tensor:
        """Return the mean score for each value of axis ``kept``, ``(batch, values)``; for None, ``(batch, 1)``.

        ``alternatives`` has the probabilities along each axis, which weight the scores.
        """
        table = self.table.reshape(-1, *self.sizes)
        table = table.unsqueeze(-1) if kept is None else table.movedim(kept + 1, -1)
        others = [p for axis, p in enumerate(alternatives) if axis != kept]
        for p in reversed(others):
            table = (table * p.reshape(len(p), *(1,) * (table.dim() - 3), p.shape[1], 1)).sum(-2)
        return table


class DenseOracle(Oracle):
    """The oracle of a `Dense` factor with the tensors of one batch."""

    def __init__(self, factor: Dense) -> None:
        self._factor = factor
        self._assignments = factor.assignments

    def on_cpu(self, device: torch.device) -> DenseOracle:  # noqa: ARG002
        factor = copy.copy(self._factor)
        factor._table = factor._table.cpu()
        return DenseOracle(factor)

    def best(self, scores: Tensor) -> Tensor:
        forbidden = scores == NEG_INF
        total = finite(scores) @ self._assignments.T + self._factor.table
        blocked = forbidden.to(scores) @ self._assignments.T > 0
        return self._assignments[torch.where(blocked, NEG_INF, total).argmax(-1)]

    def local_scores(self, vertices: Tensor) -> Tensor:
        return self._factor.log_potential(vertices)

    def least(self) -> float:
        table = plain(self._factor.table)
        return float(torch.where(table > NEG_INF, table, torch.inf).min())

    def messages(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        ones = self._assignments > 0
        chosen = torch.where(ones, weights[..., 1].unsqueeze(1), weights[..., 0].unsqueeze(1))
        blocked = chosen == NEG_INF
        permitted, table = finite(chosen), self._factor.table
        total = permitted.sum(-1) + table
        others = total.unsqueeze(-1) - permitted
        others = torch.where(blocked.sum(-1, keepdim=True) > blocked.long(), NEG_INF, others)
        nothing = torch.full_like(others, NEG_INF)
        sums = [logsumexp(torch.where(ones == bool(value), others, nothing), 1) for value in (0, 1)]
        everything = torch.where(blocked.any(-1), NEG_INF, total)
        return torch.stack(sums, -1), logsumexp(everything, -1)

    def __repr__(self) -> str:
        return repr(self._factor)


def _groups(variables: VariablesLike) -> list[Variables] | None:
    """Return the groups of one-hot variables, or None for single variables.

    Raises:
        ValueError: If a group is empty or has more than one axis, or an array of groups more than two.
    """
    parts: Sequence[VariablesLike] = list(variables) if _ndim(variables) == 2 else ()
    if not isinstance(variables, Variables):
        parts = list(itertools.chain([] if variables is None else variables))
        if all(_ndim(part) == 0 for part in parts):
            return None
    groups = [collect(part, "variables") for part in parts]
    for group in groups:
        if group.ndim != 1 or not group.size:
            raise ValueError(f"a group has shape {group.shape}; expected variables along one axis")
    if isinstance(variables, Variables) and variables.ndim > 2:
        raise ValueError(f"variables have shape {variables.shape}; expected (k,), or a list of groups")
    return groups or None


def _ndim(value: VariablesLike) -> int:
    return value.ndim if isinstance(value, Variables) else -1
