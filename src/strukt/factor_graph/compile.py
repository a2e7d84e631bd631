"""Compile a graph and the scores of its variables to the arrays that the solvers read, with one batch axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.factor_graph.dense import Dense, DenseOracle
from strukt.factor_graph.factor import AnyFactor, Factor, require_trailing, row_of
from strukt.factor_graph.knapsack import Knapsack
from strukt.factor_graph.oracles import MapOracle, Oracle
from strukt.factor_graph.pairwise import Pairwise
from strukt.factor_graph.structures import Structure
from strukt.inference.lp_sparsemap.graph import ORACLE, Layout
from strukt.kernels.autograd import is_plain
from strukt.kernels.undifferentiated import plain

Scores = Tensor | Sequence[Tensor]


@dataclass(frozen=True)
class Arrays:
    """The arrays of variables of a graph, in order of creation.

    Attributes:
        shapes: The shape of each array.
    """

    shapes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> list[int]:
        return [int(np.prod(shape, dtype=np.int64)) for shape in self.shapes]

    def flat(self, scores: Scores) -> tuple[Tensor, torch.Size]:
        """Return the scores of all variables ``batch + (V,)``, and their batch shape.

        Raises:
            ValueError: If the scores do not fit the arrays.
        """
        if isinstance(scores, Tensor):
            values, names = [scores], ["scores"]
        else:
            values = list(scores)
            names = [f"scores[{place}]" for place in range(len(values))]
        if len(values) != len(self.shapes):
            raise ValueError(
                f"got {len(values)} score tensors for {len(self.shapes)} arrays of variables; expected one for "
                "each, in order of creation"
            )
        batches = []
        for name, value, shape in zip(names, values, self.shapes, strict=True):
            require_trailing(name, value, shape)
            batches.append(value.shape[: value.dim() - len(shape)])
        batch_shape = _broadcast(batches, "the score tensors")
        same = arguments.common_dtype(tuple(values), tuple(names))
        flat = [
            value.expand(batch_shape + torch.Size(shape)).reshape(*batch_shape, size)
            for value, shape, size in zip(same, self.shapes, self.sizes, strict=True)
        ]
        return torch.cat(flat, -1), batch_shape

    def shaped(self, flat: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Reshape values ``(..., V)`` of variables to the arrays; return a tuple if there are several."""
        parts = torch.split(flat, self.sizes, -1)
        result = tuple(
            part.reshape(flat.shape[:-1] + torch.Size(shape))
            for part, shape in zip(parts, self.shapes, strict=True)
        )
        return result[0] if len(result) == 1 else result


@dataclass(frozen=True)
class Problem:
    """A graph with the scores of one batch.

    Attributes:
        layout: The factors as the solvers read them.
        batch_shape: The common batch shape of all scores and factors, after broadcasting.
        scores: ``(batch, V)``, the score of a 1 at each variable.
        pair_scores: ``(batch or 1, q)``, the scores of all pairs.
        oracles: The oracles of the factors of kind `ORACLE`, in the order of the factors.
        factors: All factors of the graph, bound to the batch.
        type: The common type of the scores that the user passed, at least float32.
    """

    layout: Layout
    batch_shape: torch.Size
    scores: Tensor
    pair_scores: Tensor
    oracles: list[Oracle]
    factors: list[AnyFactor]
    type: torch.dtype

    def on_cpu(self) -> Problem:
        """Return the problem with scores and oracles on the CPU; differentiable. ``factors`` are not moved."""
        if self.scores.is_cpu:
            return self
        oracles = [oracle.on_cpu(self.scores.device) for oracle in self.oracles]
        return replace(self, scores=self.scores.cpu(), pair_scores=self.pair_scores.cpu(), oracles=oracles)

    def of_item(self, item: int) -> Problem:
        """Return the problem of one item of the batch."""
        factors = [factor.of_item(item) for factor in self.factors]
        oracles = [oracle for oracle in map(_oracle, factors) if oracle is not None]
        scores, pairs = (row_of(value, item) for value in (self.scores, self.pair_scores))
        return Problem(self.layout, torch.Size([1]), scores, pairs, oracles, factors, self.type)


def compile_graph(
    arrays: Arrays,
    factors: Sequence[AnyFactor],
    layout: Layout,
    scores: Scores,
    dtype: torch.dtype | None = None,
) -> Problem:
    """Bind the factors of a graph to a batch of scores.

    Args:
        arrays: The shapes of the arrays of variables.
        factors: The factors, in the order in which they were added.
        layout: The result of `layout_of` for the factors.
        scores: The scores of the variables.
        dtype: The type to compute in; by default that of the scores, at least float32.

    Raises:
        ValueError: If shapes or types do not fit, or scores of variables, pairs or tables are NaN, +inf or too
            large.
        NotImplementedError: If `torch.func.vmap` maps scores or tensors of factors.
    """
    flat, batch_shape = arrays.flat(scores)
    batch_shape = _broadcast(
        [batch_shape, *(f.batch_shape for f in factors)], "the scores and the factors' tensors"
    )
    if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        for value in (flat, *(getattr(factor, name) for factor in factors for name in factor.tensors)):
            plain(value)  # raises an error if it is mapped
    original = flat.dtype
    flat = flat.to(dtype or original).expand(*batch_shape, -1).reshape(batch_shape.numel(), flat.shape[-1])
    if flat.numel():
        longest = torch.full((len(flat),), flat.shape[1], device=flat.device)
        guards.require_scores(flat.detach(), longest, [0], "scores")
        flat = arguments.without_extremes(flat)
    bound = [factor.bound(batch_shape, flat) for factor in factors]
    _require_scores_of_factors(bound)
    pairs = [arguments.without_extremes(f.scores) for f in bound if isinstance(f, Pairwise)]
    rows = next((len(pair) for pair in pairs if len(pair) != 1), 1)  # also 0, in an empty batch
    pair_scores = torch.cat([pair.expand(rows, -1) for pair in pairs], -1) if pairs else flat.new_zeros(1, 0)
    oracles = [oracle for oracle in map(_oracle, bound) if oracle is not None]
    return Problem(layout, batch_shape, flat, pair_scores, oracles, bound, original)


def _require_scores_of_factors(factors: Sequence[AnyFactor]) -> None:
    """Check the scores of pairs and tables: all at once, and each factor alone only if that fails."""
    scored = [
        (factor, name, axes)
        for factor in factors
        if isinstance(factor, (Pairwise, Dense))
        for name, axes in factor.tensors.items()
    ]
    values = [getattr(factor, name).detach() for factor, name, _ in scored]
    if not values:
        return
    together = torch.cat([each.flatten() for each in values])
    if is_plain() and bool((together < guards.LARGEST).all()):  # False for NaN
        return
    for (factor, name, axes), each in zip(scored, values, strict=True):
        sizes = torch.zeros(len(each), dtype=torch.int64, device=each.device)
        guards.require_scores(each, sizes, [guards.UNBOUNDED] * axes, f"{name.strip('_')} of {factor!r}")


def layout_of(variables: int, factors: Sequence[AnyFactor]) -> Layout:
    """Return the arrays that describe the variables and factors of a graph to the solvers."""
    entries = [(factor, entry) for factor in factors for entry in factor.entries()]
    sizes = [len(entry.places) for _, entry in entries]
    firsts = np.cumsum([0, *(sum(e.pair >= 0 for e in factor.entries()) for factor in factors)])
    first = {id(factor): int(place) for factor, place in zip(factors, firsts, strict=False)}
    return Layout(
        variables=variables,
        copies=_joined([factor.variables.index[entry.places] for factor, entry in entries], np.int64),
        negated=_joined([factor.variables.negated[entry.places] for factor, entry in entries], np.bool_),
        starts=np.cumsum([0, *sizes], dtype=np.int64),
        kinds=np.array([entry.kind for _, entry in entries], dtype=np.int64),
        costs=_joined(
            [np.ones(n) if e.costs is None else e.costs for n, (_, e) in zip(sizes, entries, strict=True)],
            np.float64,
        ),
        low=np.array([entry.low for _, entry in entries], dtype=np.float64),
        high=np.array([entry.high for _, entry in entries], dtype=np.float64),
        pair=np.array(
            [e.pair + first[id(factor)] if e.pair >= 0 else -1 for factor, e in entries], dtype=np.int64
        ),
    )


def _joined(parts: list[Any], dtype: type) -> Any:
    return np.concatenate([np.zeros(0, dtype=dtype), *parts])


def _oracle(factor: AnyFactor) -> Oracle | None:
    """Return the oracle of a bound factor; None if the solvers handle its kind themselves."""
    if isinstance(factor, (Structure, Knapsack)):
        return factor.oracle
    if isinstance(factor, Dense):
        return DenseOracle(factor)
    if isinstance(factor, Factor):
        return MapOracle(factor)
    if any(entry.kind == ORACLE for entry in factor.entries()):
        raise NotImplementedError(f"{factor} has no oracle")
    return None


def _broadcast(shapes: list[torch.Size], what: str) -> torch.Size:
    """Return the shape to which the batch shapes of ``what`` broadcast.

    Raises:
        ValueError: If the shapes do not broadcast.
    """
    try:
        return arguments.broadcast_shapes(*shapes)
    except RuntimeError:
        listed = ", ".join(str(tuple(shape)) for shape in shapes)
        raise ValueError(f"the batch axes of {what} do not broadcast: {listed}") from None
