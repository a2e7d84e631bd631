"""Factors whose permitted assignments are the parts of structures: trees, matchings, tag sequences ..."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Self

from strukt import distributions
from strukt.checks import arguments
from strukt.distributions import LinearChain
from strukt.factor_graph.factor import AnyFactor
from strukt.factor_graph.soft import Places, Soft
from strukt.factor_graph.structure_oracle import StructureOracle
from strukt.factor_graph.variables import VariablesLike, collect
from strukt.structures.distribution import StructuredDistribution

Make = Callable[[Tensor], StructuredDistribution]
"""A function of main scores to a structure."""


class Structure(AnyFactor):
    """The variables that are 1 are the parts of a structure: any of the library, or a user-defined one.

    `lp_sparsemap` and `lp_map` need its mode, `belief_propagation` its log-partition and marginals.

    Args:
        variables: A variable for each part, in the shape of the structure's main scores.
        make: Function of main scores ``batch + shape`` to the structure. It may add lengths, and other scores such
            as transitions, which become the factor's local scores.

    Raises:
        ValueError: If there are no variables, or they belong to different graphs. When the graph is solved: if
            ``make`` returns anything but a structure whose main scores have the shape of its argument.

    Examples:
        >>> import torch, strukt
        >>> from strukt.factor_graph import factors
        >>> graph = strukt.FactorGraph()
        >>> x = graph.variables(4)
        >>> graph.add(factors.Structure(x, lambda scores: strukt.KSubset(scores, 2)))
        Structure over 4 variables
        >>> graph.enumerate(torch.zeros(4)).log_partition.exp().round()
        tensor(6.)
    """

    def __init__(self, variables: VariablesLike, make: Make) -> None:
        parts = collect(variables, "variables")
        self.shape = parts.shape
        self.make = make
        self._oracle: StructureOracle | None = None
        super().__init__(parts)

    def bound(self, batch_shape: torch.Size, scores: Tensor) -> Self:
        bound = copy.copy(super().bound(batch_shape, scores))
        bound._oracle = StructureOracle(bound._template(batch_shape, scores), scores, repr(self))
        return bound

    def of_item(self, item: int) -> Self:
        one = copy.copy(super().of_item(item))
        one._oracle = self.oracle.of_item(item)
        return one

    def log_potential(self, assignments: Tensor) -> Tensor:
        return self.oracle.log_potential(assignments)

    @property
    def oracle(self) -> StructureOracle:
        """The oracle of a factor that is bound to a batch."""
        assert self._oracle is not None
        return self._oracle

    def _template(self, batch_shape: torch.Size, scores: Tensor) -> StructuredDistribution:
        """Return the structure with main scores of 0, along one batch axis."""
        shape = batch_shape + torch.Size(self.shape)
        made: Any = self.make(torch.zeros(shape, dtype=scores.dtype, device=scores.device))
        if not isinstance(made, StructuredDistribution):
            raise ValueError(f"make returned a {type(made).__name__}; expected a StructuredDistribution")
        if made.scores[0].shape != shape:
            raise ValueError(
                f"make returned {made} for scores of shape {tuple(shape)}; expected main scores of this shape"
            )
        return made._flatten()


class Chain(Structure, Soft):
    """The variables that are 1 form a tag sequence, with scores of neighbouring tags, as in `LinearChain`.

    Args:
        tags: ``(n, c)``, for n words and c tags; exactly one variable of each row is 1.
        transition: ``[i, j]`` scores tag i followed by tag j: ``(c, c)`` or ``batch + (1, c, c)`` for all steps,
            or ``batch + (n - 1, c, c)`` for each step.

    Raises:
        ValueError: If shapes or types do not fit, there are no variables, or they belong to different graphs.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> tags = graph.variables(3, 2)
        >>> graph.add(Chain(tags, torch.tensor([[0.0, 1.0], [1.0, 0.0]])))
        Chain over 6 variables
        >>> graph.enumerate(torch.tensor([[0.5, 0.0], [0.0, 0.0], [0.0, 0.0]])).mode
        tensor([[1, 0],
                [0, 1],
                [1, 0]])
    """

    def __init__(self, tags: VariablesLike, transition: Tensor) -> None:
        rows = collect(tags, "tags")
        if rows.ndim != 2 or not rows.size:
            raise ValueError(f"tags has shape {rows.shape}; expected (n, c)")
        n, c = rows.shape
        arguments.scores("transition", transition, f"({c}, {c})", 2)
        steps = 1 if transition.dim() == 2 else transition.shape[-3]
        if transition.shape[-2:] != (c, c) or steps not in (1, n - 1):
            raise ValueError(
                f"transition has shape {tuple(transition.shape)}; expected ({c}, {c}), batch + ({n - 1}, {c}, "
                f"{c}) or batch + (1, {c}, {c})"
            )
        self._transition = transition
        self.tensors = {"_transition": min(transition.dim(), 3)}
        super().__init__(rows, self._chain)

    @property
    def transition(self) -> Tensor:
        """The transitions with an axis for the steps, ``batch + (1 or n - 1, c, c)``."""
        return self._transition if self.tensors["_transition"] == 3 else self._transition.unsqueeze(-3)

    def groups(self) -> list[Places]:
        return list(np.arange(self.variables.size).reshape(self.shape))

    def cliques(self) -> list[Places]:
        groups = self.groups()
        return [np.concatenate(pair) for pair in itertools.pairwise(groups)] or groups

    def expected(self, probabilities: Tensor) -> Tensor:
        tags = probabilities.reshape(-1, *self.shape)
        following = torch.einsum("...tij,...tj->...ti", self.transition, tags[..., 1:, :])
        total: Tensor = (tags[..., :-1, :] * following).sum((-1, -2))
        return total

    def fields(self, probabilities: Tensor) -> Tensor:
        tags = probabilities.reshape(-1, *self.shape)
        steps = self.transition.expand(-1, self.shape[0] - 1, -1, -1)
        following = torch.einsum("...tij,...tj->...ti", steps, tags[..., 1:, :])
        before = torch.einsum("...tij,...ti->...tj", steps, tags[..., :-1, :])
        nothing = torch.zeros_like(tags[..., :1, :])
        return (torch.cat([following, nothing], -2) + torch.cat([nothing, before], -2)).flatten(-2)

    def is_finite(self) -> bool:
        return bool(self.transition.isfinite().all())

    def _chain(self, scores: Tensor) -> LinearChain:
        return LinearChain(scores, self.transition)

    def _template(self, batch_shape: torch.Size, scores: Tensor) -> StructuredDistribution:
        return LinearChain(scores.new_zeros(batch_shape.numel(), *self.shape), self.transition)


class Tree(Structure):
    """The arcs that are 1 form a dependency tree, as in `NonProjectiveTree`.

    Args:
        arcs: ``(n, n + 1)``; ``[m, h]`` is the arc from head h to word m + 1, and h = 0 is the root. The arc of a
            word to itself, h = m + 1, is always 0.
        single_root: Whether exactly one word depends on the root, instead of at least one.

    Raises:
        ValueError: If the shape is not ``(n, n + 1)``, n is 0, or the variables belong to different graphs.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(Tree(graph.variables(2, 3)))
        Tree over 6 variables
        >>> graph.lp_map(torch.tensor([[1.0, 0.0, 0.0], [1.1, 1.0, 0.0]])).marginals  # root to word 1 to word 2
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """

    kind: type[distributions.NonProjectiveTree] | type[distributions.ProjectiveTree] = (
        distributions.NonProjectiveTree
    )

    def __init__(self, arcs: VariablesLike, single_root: bool = True) -> None:
        rows = collect(arcs, "arcs")
        if rows.ndim != 2 or rows.shape[1] != rows.shape[0] + 1:
            raise ValueError(
                f"arcs has shape {rows.shape}; expected (n, n + 1): a row for each word, with a column for each "
                "head, the root first"
            )
        single_root = arguments.boolean("single_root", single_root)
        super().__init__(rows, functools.partial(self.kind, single_root=single_root, labelled=False))


class ProjectiveTree(Tree):
    """The arcs that are 1 form a dependency tree without crossing arcs, as in `strukt.ProjectiveTree`.

    Args:
        arcs: ``(n, n + 1)``; ``[m, h]`` is the arc from head h to word m + 1, and h = 0 is the root. The arc of a
            word to itself, h = m + 1, is always 0.
        single_root: Whether exactly one word depends on the root, instead of at least one.

    Raises:
        ValueError: If the shape is not ``(n, n + 1)``, n is 0, or the variables belong to different graphs.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> arcs = graph.variables(3, 4)
        >>> graph.add(ProjectiveTree(arcs))
        ProjectiveTree over 12 variables
        >>> len(graph.enumerate(torch.zeros(3, 4)).assignments)  # of 9 trees, two have crossing arcs
        7
    """

    kind = distributions.ProjectiveTree


class Matching(Structure):
    """The variables that are 1 match each row with a different column, as in `strukt.Matching`.

    `belief_propagation` raises NotImplementedError above 16 rows.

    Args:
        variables: ``(n, m)`` for n rows and m columns with n <= m; ``[i, j]`` is 1 if row i has column j.

    Raises:
        ValueError: If the shape is not ``(n, m)`` with n <= m, n is 0, or the variables belong to different
            graphs.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(Matching(graph.variables(2, 2)))
        Matching over 4 variables
        >>> graph.lp_map(torch.tensor([[2.0, 0.0], [3.0, 0.0]])).marginals
        tensor([[0., 1.],
                [1., 0.]])
    """

    def __init__(self, variables: VariablesLike) -> None:
        rows = collect(variables, "variables")
        if rows.ndim != 2 or rows.shape[0] > rows.shape[1]:
            raise ValueError(
                f"variables has shape {rows.shape}; expected (n, m) with n <= m: a different column for each row"
            )
        super().__init__(rows, distributions.Matching)
