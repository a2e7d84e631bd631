"""Factors that are structures: their assignments are the parts of trees, matchings, sequences ..."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Self

from strukt import distributions
from strukt.distributions import LinearChain
from strukt.distributions.distribution import StructuredDistribution
from strukt.factor_graph.factor import AnyFactor
from strukt.factor_graph.oracles import Oracle, face
from strukt.factor_graph.soft import Places, Soft
from strukt.factor_graph.variables import VariablesLike, collect
from strukt.inference.consensus import Face
from strukt.kernels import arguments
from strukt.kernels.semiring import NEG_INF

ALWAYS = 1e-12
"""A part is in all structures if fewer than this share of them lack it."""

Make = Callable[[Tensor], StructuredDistribution]


class Structure(AnyFactor):
    """Any structure of the library, or one of your own.

    Args:
        variables: One for each part, in the shape of the structure's main scores.
        make: From main scores ``batch + shape`` to the structure. It may add other scores, of transitions say,
            and lengths; they are the factor's own scores and what it permits.

    Raises:
        ValueError: If there are no variables. When the graph is solved: if ``make`` gives no structure, or one of
            other shape.

    Examples:
        >>> import torch, strukt
        >>> from strukt.factor_graph import factors
        >>> graph = strukt.FactorGraph()
        >>> x = graph.variables(4)
        >>> graph.add(factors.Structure(x, lambda scores: strukt.KSubset(scores, 2)))
        Structure over 4 variables
        >>> graph.enumerate(torch.zeros(4)).log_partition.exp()
        tensor(6.0000)
    """

    def __init__(self, variables: VariablesLike, make: Make) -> None:
        given = collect(variables, "variables")
        self.shape = given.shape
        self.make = make
        super().__init__(given)

    def bound(self, batch_shape: torch.Size, scores: Tensor) -> Self:
        bound = copy.copy(super().bound(batch_shape, scores))
        bound._oracle = StructureOracle(bound._template(batch_shape, scores), scores, repr(self))
        return bound

    def log_potential(self, assignments: Tensor) -> Tensor:
        return self._oracle.log_potential(assignments)

    @property
    def oracle(self) -> StructureOracle:
        """What solvers ask, once the factor is bound to a batch."""
        return self._oracle

    def _template(self, batch_shape: torch.Size, scores: Tensor) -> StructuredDistribution:
        """The structure with main scores of 0, along one batch axis."""
        shape = batch_shape + torch.Size(self.shape)
        made: Any = self.make(scores.new_zeros(shape))
        if not isinstance(made, StructuredDistribution):
            raise ValueError(f"make gave a {type(made).__name__}; expected a StructuredDistribution")
        if made.scores[0].shape != shape:
            raise ValueError(
                f"make gave {made} for scores of shape {tuple(shape)}; expected main scores of this shape"
            )
        return made._flatten()


class Chain(Structure, Soft):
    """A tag for each position, and scores of neighbouring tags: `LinearChain`.

    Args:
        tags: ``(n, c)``; of each row exactly one variable is 1.
        transition: ``[i, j]`` scores tag i followed by tag j: ``(c, c)`` for all steps, or ``batch + (n - 1, c, c)``
            for each one, or ``batch + (1, c, c)``.

    Raises:
        ValueError: If shapes or types do not fit.
    """

    tensors = {"transition": 3}

    def __init__(self, tags: VariablesLike, transition: Tensor) -> None:
        given = collect(tags, "tags")
        if given.ndim != 2 or not given.size:
            raise ValueError(f"tags has shape {given.shape}; expected (n, c)")
        n, c = given.shape
        arguments.scores("transition", transition, f"({c}, {c})", 2)
        steps = transition.unsqueeze(0) if transition.dim() == 2 else transition
        if steps.shape[-2:] != (c, c) or steps.shape[-3] not in (1, n - 1):
            raise ValueError(
                f"transition has shape {tuple(transition.shape)}; expected ({c}, {c}), batch + ({n - 1}, {c}, {c}) or "
                f"batch + (1, {c}, {c})"
            )
        self.transition = steps
        super().__init__(given, self._chain)

    def groups(self) -> list[Places]:
        return list(np.arange(self.variables.size).reshape(self.shape))

    def cliques(self) -> list[Places]:
        groups = self.groups()
        return [np.concatenate(pair) for pair in zip(groups, groups[1:], strict=False)] or groups

    def expected(self, probabilities: Tensor) -> Tensor:
        tags = probabilities.unflatten(-1, self.shape)
        following = torch.einsum("...tij,...tj->...ti", self.transition, tags[..., 1:, :])
        return (tags[..., :-1, :] * following).sum((-1, -2))

    def fields(self, probabilities: Tensor) -> Tensor:
        tags = probabilities.unflatten(-1, self.shape)
        steps = self.transition.expand(-1, len(tags[0]) - 1, -1, -1)
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
    """Dependency trees: `NonProjectiveTree`.

    Args:
        arcs: ``(n, n + 1)``; ``[m, h]`` is the arc from head h to word m + 1, and h = 0 is the root.
        single_root: Whether exactly one word hangs on the root, or any number from one on.

    Raises:
        ValueError: If shapes do not fit.
    """

    kind: type[distributions.NonProjectiveTree] | type[distributions.ProjectiveTree] = (
        distributions.NonProjectiveTree
    )

    def __init__(self, arcs: VariablesLike, single_root: bool = True) -> None:
        given = collect(arcs, "arcs")
        if given.ndim != 2 or given.shape[1] != given.shape[0] + 1:
            raise ValueError(
                f"arcs has shape {given.shape}; expected (n, n + 1): a row for each word, and in it the root as head "
                "(column 0), then each word"
            )
        super().__init__(given, lambda scores: self.kind(scores, single_root=single_root))


class ProjectiveTree(Tree):
    """Dependency trees without crossing arcs: `strukt.ProjectiveTree`."""

    kind = distributions.ProjectiveTree


class Matching(Structure):
    """One-to-one assignments of rows to columns: `strukt.Matching`.

    Args:
        variables: ``(n, m)`` with n <= m.

    Raises:
        ValueError: If the shape is another.
    """

    def __init__(self, variables: VariablesLike) -> None:
        given = collect(variables, "variables")
        if given.ndim != 2 or given.shape[0] > given.shape[1]:
            raise ValueError(
                f"variables has shape {given.shape}; expected (n, m) with n <= m: each row has a column of its own"
            )
        super().__init__(given, distributions.Matching)


class StructureOracle(Oracle):
    """A structure with the scores of one batch, the main ones apart.

    Args:
        template: The structure with main scores of 0, along one batch axis.
        scores: Of the type to compute with.
        name: For messages.
    """

    def __init__(self, template: StructuredDistribution, scores: Tensor, name: str) -> None:
        main, *others = template.scores
        self._template = template._with_scores(main, *others)  # from here on, events are not checked
        self._main, self._others = main, others
        self._type = scores
        self._name = name
        self._shape = main.shape[1:]

    def best(self, scores: Tensor) -> Tensor:
        structures = self._with(scores, self._others)
        return self._flat(structures.to_parts(structures.mode))

    def own(self, vertices: Tensor) -> Tensor:
        return self._template._score(self._events(vertices)).to(vertices.dtype)

    def project(self, scores: Tensor, scale: Tensor, start: Any) -> Face:
        def divided(value: Tensor) -> Tensor:
            return value / scale.to(value).reshape(-1, *(1,) * (value.dim() - 1))

        structures = self._with(scores, [divided(other) for other in self._others], divided(self._main))
        _, *others = structures.scores
        return face(
            scores,
            best=lambda main: structures._with_scores(self._shaped(main) + divided(self._main), *others).mode,
            to_parts=lambda events: self._flat(structures.to_parts(events)),
            own=self.own,
            scale=scale,
            start=start,
        )

    def log_potential(self, assignments: Tensor) -> Tensor:
        """Own scores ``(k, batch)`` of any assignments; -inf for what is no structure."""
        batch = len(self._main)
        assignments = assignments.expand(-1, batch, -1)
        events = self._events(assignments)
        same = self._flat(self._template.to_parts(events)) == assignments
        permitted = same.all(-1) & self._template.is_structure(events)
        scores: Tensor = self._template._score(events).to(assignments.dtype)
        return torch.where(permitted, scores, NEG_INF)

    def messages(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        zero, one = weights.unbind(-1)
        required, forbidden = zero == NEG_INF, one == NEG_INF
        nothing = torch.zeros_like(zero)
        odds = torch.where(required | forbidden, nothing, one - torch.where(required, nothing, zero))
        scores = torch.where(forbidden, NEG_INF, torch.where(required, one, odds))
        structures = self._with(scores, self._others).condition(required=self._shaped(required))
        probability = self._flat(structures.marginals)
        total = structures.log_partition.to(weights) + torch.where(required, nothing, zero).sum(-1)
        with torch.no_grad():  # what is 0 or 1 in all structures, and not only after rounding
            support = self._flat(structures._with_scores(*(_support(s) for s in structures.scores)).marginals)
        tiny = torch.finfo(weights.dtype)
        on = torch.where(
            support == 0, NEG_INF, probability.clamp(min=tiny.tiny).log() - torch.where(forbidden, 0, one)
        )
        off = (1 - probability).clamp(min=tiny.eps).log() - torch.where(required, 0, zero)
        off = torch.where(1 - support < ALWAYS, NEG_INF, off)
        told = torch.stack([off, on], -1) + torch.where(total == NEG_INF, 0.0, total)[:, None, None]
        # Of a variable whose value was given, this factor has nothing more to say.
        given = (required | forbidden | (total == NEG_INF).unsqueeze(-1)).unsqueeze(-1)
        return torch.where(given, torch.zeros_like(told), told), total

    def __repr__(self) -> str:
        return self._name

    def _with(
        self, scores: Tensor, others: list[Tensor], main: Tensor | None = None
    ) -> StructuredDistribution:
        return self._template._with_scores(
            self._shaped(scores) + (self._main if main is None else main), *others
        )

    def _shaped(self, flat: Tensor) -> Tensor:
        return flat.reshape(*flat.shape[:-1], *self._shape)

    def _flat(self, parts: Tensor) -> Tensor:
        return parts.flatten(-len(self._shape)).to(self._type)

    def _events(self, assignments: Tensor) -> Tensor:
        return self._template.from_parts(self._shaped(assignments))


def _support(scores: Tensor) -> Tensor:
    return torch.where(scores == NEG_INF, NEG_INF, torch.zeros_like(scores))
