"""Oracles of structures as factors: main scores belong to the variables, all other scores to the factor."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.factor_graph.factor import row_of
from strukt.factor_graph.oracles import TOLERANCE, Oracle
from strukt.inference.lp_sparsemap.graph import Face
from strukt.kernels.semiring import NEG_INF, forbidden_only
from strukt.kernels.sparsemap.result import Settings
from strukt.kernels.undifferentiated import plain
from strukt.structures.distribution import StructuredDistribution
from strukt.structures.sparse import ACTIVE_SET, find

ALWAYS = 1e-12
"""A part counts as used by all structures if fewer than this share of them lack it."""


class StructureOracle(Oracle):
    """The oracle of a structure, with the scores of one batch.

    Args:
        template: The structure with main scores of 0, along one batch axis.
        scores: A tensor of the type to compute in.
        name: The name of the factor in error messages.
    """

    def __init__(self, template: StructuredDistribution, scores: Tensor, name: str) -> None:
        main, *others = template.scores
        self._template = template._with_scores(main, *others)  # which does not check events
        self._main, self._others = main, others
        self._plain = [plain(score) for score in template.scores]  # for `best` and `project`: no derivatives
        self._type = plain(scores)
        self._name = name
        self._shape = main.shape[1:]
        self._silent = not others and not main.requires_grad and not bool(self._plain[0].any())
        self._constraints: Tensor | None = None
        self._support = main

    def of_item(self, item: int) -> StructureOracle:
        """Return the oracle of one item of the batch."""
        template = self._template
        scores = tuple(row_of(score, item) for score in template.scores)
        constants = tuple(row_of(constant, item) for constant in template.constants)
        one = template._rebuilt(scores, row_of(template.lengths, item), constants)
        return StructureOracle(one, self._type, self._name)

    def on_cpu(self, device: torch.device) -> StructureOracle:  # noqa: ARG002
        return StructureOracle(self._template._on_cpu(), self._type.cpu(), self._name)

    def best(self, scores: Tensor) -> Tensor:
        main, *others = self._plain
        structures = self._with(scores, others, main)
        return self._flat(structures.to_parts(structures.mode))

    def local_scores(self, vertices: Tensor) -> Tensor:
        if self._silent:
            return vertices.new_zeros(vertices.shape[:2])
        return self._template._score(self._events(vertices)).to(vertices.dtype)

    def project(self, scores: Tensor, scale: Tensor, start: Face | None, calls: int) -> Face:
        def divided(value: Tensor) -> Tensor:
            return value / scale.to(value).reshape(-1, *(1,) * (value.dim() - 1))

        main, *others = (divided(score) for score in self._plain)
        structures = self._with(scores, others, main)
        with torch.no_grad():
            begin = None if start is None else (self._events_of(start), start.weights)
            result, events = find(structures, Settings(calls, TOLERANCE), ACTIVE_SET, begin)
            used = torch.arange(events.shape[1]) < torch.from_numpy(result.sizes).unsqueeze(-1)
            vertices = self._flat(structures.to_parts(events.movedim(1, 0)).movedim(0, 1))
            used, weights = used.to(scores.device), torch.from_numpy(result.weights).to(scores)
            return self.face(weights, torch.where(used.unsqueeze(-1), vertices, -1.0))

    def _events_of(self, face: Face) -> Tensor:
        return self._events(face.vertices.movedim(1, 0)).movedim(0, 1)

    def log_potential(self, assignments: Tensor) -> Tensor:
        """Return the local scores ``(k, batch)`` of assignments; -inf for those that are not structures."""
        batch = len(self._main)
        assignments = assignments.expand(-1, batch, -1)
        events = self._events(assignments)
        same = self._flat(self._template.to_parts(events)) == assignments
        permitted = same.all(-1) & self._template.is_structure(events)
        scores: Tensor = self._template._score(events).to(assignments.dtype)
        return torch.where(permitted, scores, NEG_INF)

    def permits(self, vertices: Tensor) -> Tensor:
        return self.log_potential(vertices) > NEG_INF

    def least(self) -> float:
        reversed_scores = (torch.where(score > NEG_INF, -score, NEG_INF) for score in self._plain)
        return -float(self._template._with_scores(*reversed_scores).max_score.max())

    def messages(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        zero, one = weights.unbind(-1)
        required, forbidden = zero == NEG_INF, one == NEG_INF
        nothing = torch.zeros_like(zero)
        odds = torch.where(required | forbidden, nothing, one - torch.where(required, nothing, zero))
        scores = torch.where(forbidden, NEG_INF, torch.where(required, one, odds))
        structures = self._with(scores, self._others)
        if bool(required.any()):
            structures = structures.condition(required=self._shaped(required))
        probability = self._flat(structures.marginals)
        total = structures.log_partition.to(weights) + torch.where(required, nothing, zero).sum(-1)
        support = self._support_of(structures, torch.stack([required, forbidden]))
        # The sum for a value is the total times the value's probability, divided by the value's own weight.
        tiny = torch.finfo(weights.dtype)
        on = torch.where(
            support == 0, NEG_INF, probability.clamp(min=tiny.tiny).log() - torch.where(forbidden, 0, one)
        )
        off = (1 - probability).clamp(min=tiny.eps).log() - torch.where(required, 0, zero)
        off = torch.where(1 - support < ALWAYS, NEG_INF, off)
        sums = torch.stack([off, on], -1) + torch.where(total == NEG_INF, 0.0, total)[:, None, None]
        # Marginals do not determine the sum for a value that is ruled out already.
        fixed = (required | forbidden | (total == NEG_INF).unsqueeze(-1)).unsqueeze(-1)
        return torch.where(fixed, NEG_INF, sums), total

    @torch.no_grad()
    def _support_of(self, structures: StructuredDistribution, constraints: Tensor) -> Tensor:
        """Return the share of structures that use each part, to detect parts that all or none of them use.

        It depends only on ``constraints``, Boolean ``(2, batch, size)``: required parts, and forbidden parts. The
        result is kept until they change.
        """
        if self._constraints is None or not torch.equal(self._constraints, constraints):
            counting = structures._with_scores(*(forbidden_only(score) for score in structures.scores))
            self._constraints, self._support = constraints, self._flat(counting.marginals)
        return self._support

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
