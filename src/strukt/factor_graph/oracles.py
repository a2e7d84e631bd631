"""Oracles: factors with the tensors of one batch, which solve MAP and SparseMAP for `inference.lp_sparsemap`."""

from __future__ import annotations

import abc
import math

import torch
from torch import Tensor

from strukt.checks import guards
from strukt.factor_graph.factor import CERTAIN, Factor
from strukt.inference.lp_sparsemap.graph import Face
from strukt.inference.sparsemap import active_set, chosen, cut
from strukt.kernels.semiring import NEG_INF, finite
from strukt.kernels.sparsemap.result import Settings, Start, listed, no_start
from strukt.kernels.sparsemap.state import INFEASIBLE
from strukt.kernels.undifferentiated import numpy_of, plain

TOLERANCE = 1e-12
"""The error in the marginals at which the active set of a projection stops."""


class Oracle(abc.ABC):
    """The base class of oracles."""

    @abc.abstractmethod
    def best(self, scores: Tensor) -> Tensor:
        """Return the best 0/1 assignment for scores ``(batch, size)`` plus local scores; -inf forbids a 1."""

    @abc.abstractmethod
    def local_scores(self, vertices: Tensor) -> Tensor:
        """Return the local scores ``(k, batch)`` of assignments ``(k, batch, size)``; differentiable."""

    def permits(self, vertices: Tensor) -> Tensor:
        """Return a mask ``(k, batch)`` of the assignments ``(k, batch, size)`` that the factor permits."""
        return self.local_scores(vertices) > NEG_INF

    def least(self) -> float:
        """Return a lower bound on the local scores of all permitted assignments in the batch; -inf if unknown."""
        return -math.inf

    def on_cpu(self, device: torch.device) -> Oracle:
        """Return the oracle for a solver on the CPU; differentiable.

        Args:
            device: The device of the oracle's tensors. An oracle that cannot move them runs there.
        """
        return OnDevice(self, device)

    def project(self, scores: Tensor, scale: Tensor, start: Face | None, calls: int) -> Face:
        """Solve SparseMAP for main scores ``(batch, size)`` and local scores divided by ``scale (batch,)``.

        Args:
            scores: The main scores, one for each variable of the factor.
            scale: The divisor of the local scores; the local scores in the result are not divided.
            start: The previous result as a warm start, or None.
            calls: Maximum number of calls of `best`.

        Raises:
            InfeasibleError: If the factor permits no assignment of some item.
        """

        def extra(assignments: Tensor) -> Tensor:
            return self.local_scores(assignments.unsqueeze(0))[0] / scale

        def best(main: Tensor) -> tuple[Tensor, Tensor]:
            assignments = self.best(main * scale.unsqueeze(-1))
            used = torch.where(assignments > 0, main, torch.zeros_like(main))
            return assignments, used.sum(-1) + extra(assignments)

        with torch.no_grad():
            begin = no_start(*scores.shape)
            if start is not None:
                begin = _start(start, self.local_scores(start.vertices.movedim(1, 0)).T, scale)
            settings = Settings(calls, TOLERANCE)
            result, answers = active_set(
                scores, scores.shape[1], begin, settings, best, lambda assignments: assignments, extra
            )
            infeasible = torch.from_numpy(result.phases == INFEASIBLE)
            guards.require_feasible(infeasible, torch.where(infeasible, NEG_INF, 0.0))
            result = cut(result)
            weights = torch.from_numpy(result.weights).to(scores)
            started = None if start is None else start.vertices
            return self.face(weights, chosen(answers, started, result))

    def face(self, weights: Tensor, vertices: Tensor) -> Face:
        """Return the face of weights ``(batch, k)`` and assignments ``(batch, k, size)``, -1 in unused rows.

        In the face, unused rows repeat the first assignment, with weight 0.
        """
        used = (vertices >= 0).all(-1)
        weights = torch.where(used, weights, torch.zeros_like(weights))
        vertices = torch.where(used.unsqueeze(-1), vertices, vertices[:, :1])
        point = (weights.unsqueeze(1) @ vertices).squeeze(1)
        return Face(point, weights, vertices, plain(self.local_scores(vertices.movedim(1, 0))).T)

    def messages(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-sums of the weights of assignments.

        The log-weight of an assignment is the sum of the log-weights of its values, plus its local score.

        Args:
            weights: ``(batch, size, 2)``, log-weights of 0 and of 1; -inf for a value that is ruled out.

        Returns:
            ``(batch, size, 2)``, the log-sums over the assignments in which a variable is 0 and in which it is 1,
            without the weight of that variable; -inf for both if they cannot be computed. And the log-sum over all
            assignments, ``(batch,)``.

        Raises:
            NotImplementedError: If the factor cannot sum over its assignments.
        """
        raise NotImplementedError(
            f"{self} can compute its best assignment, but not the sums over assignments that belief propagation "
            "needs; use a Dense factor with a table, a Structure whose distribution has marginals, or lp_sparsemap"
        )


class OnDevice(Oracle):
    """An oracle that runs on a device other than its caller's."""

    def __init__(self, oracle: Oracle, device: torch.device) -> None:
        self._oracle, self._device = oracle, device

    def best(self, scores: Tensor) -> Tensor:
        return self._oracle.best(scores.to(self._device)).to(scores.device)

    def local_scores(self, vertices: Tensor) -> Tensor:
        return self._oracle.local_scores(vertices.to(self._device)).to(vertices.device)

    def permits(self, vertices: Tensor) -> Tensor:
        return self._oracle.permits(vertices.to(self._device)).to(vertices.device)

    def least(self) -> float:
        return self._oracle.least()

    def __repr__(self) -> str:
        return repr(self._oracle)


class MapOracle(Oracle):
    """The oracle of a user-defined `Factor`, which implements `map` and optionally `score`."""

    def __init__(self, factor: Factor) -> None:
        self._factor = factor

    def best(self, scores: Tensor) -> Tensor:
        # The user's code may multiply scores by 0, and 0 times -inf is NaN.
        lowest = -CERTAIN * (1 + finite(scores).abs().amax(-1, keepdim=True))
        return self._factor.best(torch.where(scores == NEG_INF, lowest, scores))

    def local_scores(self, vertices: Tensor) -> Tensor:
        return self._factor.local_scores(vertices)

    def permits(self, vertices: Tensor) -> Tensor:
        return self._factor.log_potential(vertices) > NEG_INF

    def __repr__(self) -> str:
        return type(self._factor).__name__


def _start(face: Face, local_scores: Tensor, scale: Tensor) -> Start:
    """Return the assignments of an earlier face as a start, with their current local scores ``(batch, k)``.

    The local scores in the start are divided by ``scale (batch,)``.
    """
    used = face.vertices.cpu().numpy() > 0
    extra = local_scores / scale.unsqueeze(-1)
    return Start(*listed(used, used.shape[-1]), numpy_of(extra), numpy_of(face.weights))
