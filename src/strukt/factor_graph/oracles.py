"""Factors as the solvers know them (`strukt.inference.consensus.OracleFactor`), and SparseMAP of one factor."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.factor_graph.factor import Factor
from strukt.inference.consensus import Face
from strukt.inference.sparsemap import sparsemap

MOST_STEPS = 2000
"""Bound on the calls of a factor's oracle for one projection."""

TOLERANCE = 1e-12
"""On the duality gap of a projection."""


class Oracle(abc.ABC):
    """A factor with the tensors of one batch."""

    @abc.abstractmethod
    def best(self, scores: Tensor) -> Tensor:
        """The best assignment, 0/1 ``(batch, size)``, own scores included."""

    @abc.abstractmethod
    def own(self, vertices: Tensor) -> Tensor:
        """Own scores ``(k, batch)`` of assignments ``(k, batch, size)``; differentiable."""

    def project(self, scores: Tensor, scale: Tensor, start: Any) -> Face:
        """SparseMAP for main scores ``(batch, size)``, with own scores divided by ``scale`` ``(batch,)``."""
        return face(
            scores,
            best=lambda main: self.best(main * scale.unsqueeze(-1)).long(),
            to_parts=lambda events: events.clamp(min=0).to(scores),
            own=self.own,
            scale=scale,
            start=start,
        )

    def messages(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Sums over all assignments, weighted by what each variable's value weighs.

        Args:
            weights: ``(batch, size, 2)``, log-weights of 0 and of 1; -inf for a value that is ruled out.

        Returns:
            Log-sums ``(batch, size, 2)`` over the assignments in which a variable is 0 or 1, of the own score and
            the weights of all *other* variables, or -inf for both if they are not known; and the log-sum over all,
            ``(batch,)``.

        Raises:
            NotImplementedError: If the factor knows no sums.
        """
        raise NotImplementedError(
            f"{self} knows its best assignment, but not the sums over all that belief propagation needs: give "
            "it as a Dense with a table of assignments, or as a Structure whose distribution has marginals, or "
            "use lp_sparsemap"
        )


class MapOracle(Oracle):
    """A factor of a user, who gives `map` and perhaps `score`."""

    def __init__(self, factor: Factor) -> None:
        self._factor = factor

    def best(self, scores: Tensor) -> Tensor:
        return self._factor.best(scores)

    def own(self, vertices: Tensor) -> Tensor:
        return self._factor.own(vertices)

    def __repr__(self) -> str:
        return type(self._factor).__name__


def face(
    main: Tensor,
    best: Callable[[Tensor], Tensor],
    to_parts: Callable[[Tensor], Tensor],
    own: Callable[[Tensor], Tensor],
    scale: Tensor,
    start: Any,  # noqa: ARG001
) -> Face:
    """SparseMAP by an active set; see `strukt.inference.sparsemap.sparsemap` for the arguments.

    Args:
        main: Main scores ``(batch, size)``.
        best: Main scores to best events.
        to_parts: Events ``(k, batch, *event)`` to assignments ``(k, batch, size)``.
        own: Own scores ``(k, batch)`` of assignments.
        scale: ``(batch,)``, by which own scores are divided.
        start: The last result, or None.
    """

    def score(events: Tensor) -> Tensor:
        parts = to_parts(events)
        return (parts * main).sum(-1) + own(parts) / scale

    with torch.no_grad():
        found = sparsemap(main, best, score, to_parts, MOST_STEPS, TOLERANCE)
        vertices = to_parts(found.events.movedim(1, 0)).movedim(0, 1)
        # Where an item needs fewer assignments than others, one of its own fills up: all are permitted ones.
        heaviest = found.weights.argmax(-1)[:, None, None].expand(-1, 1, vertices.shape[-1])
        vertices = torch.where((found.weights > 0).unsqueeze(-1), vertices, vertices.gather(1, heaviest))
        scores = own(vertices.movedim(1, 0)).T
        return Face(found.marginals, found.weights, vertices, scores)
