"""Mean field on a factor graph: the nearest product of independent variables, or groups of them.

Of a group exactly one variable is 1. Setting one block, a variable or a group, to the best value given all others
never raises the variational free energy -E_q[score] - H(q), which bounds -log Z from above (Wainwright and Jordan
2008, section 5.3). Blocks that share no term of a factor are set at once.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.factor_graph.blocks import blocks_of, colours
from strukt.factor_graph.compile import Arrays, Problem
from strukt.factor_graph.factor import AnyFactor
from strukt.factor_graph.soft import Soft
from strukt.inference.settings import require_damping, require_iterations
from strukt.kernels.semiring import NEG_INF, log_softmax


@dataclass(frozen=True)
class MeanField:
    """Independent variables, or groups of them.

    Attributes:
        marginals: The probability of each 1, in the shape of the variables; differentiable.
        free_energy: ``batch + (sweeps,)``, after each sweep: never rising, and never below minus the
            log-partition; differentiable.
        status: ``batch``, Boolean: whether the probabilities came to rest.
        residual: ``batch``, by how much the last sweep changed a probability, at most.
        iterations: ``batch``, the sweeps.
    """

    marginals: Tensor | tuple[Tensor, ...]
    free_energy: Tensor
    status: Tensor
    residual: Tensor
    iterations: Tensor

    @property
    def lower_bound(self) -> Tensor:
        """``batch``, on the log-partition."""
        return -self.free_energy[..., -1]


def mean_field(problem: Problem, arrays: Arrays, iterations: int, damping: float, tol: float) -> MeanField:
    """Coordinate updates, block by block; derivatives by unrolling.

    Args:
        problem: The graph.
        arrays: Its variables.
        iterations: Bound on the sweeps over all blocks. An item of the batch that came to rest stays as it is.
        damping: The share of its old value that a probability keeps, from 0 to below 1.
        tol: On the residual.

    Raises:
        ValueError: If a factor forbids assignments, there are no iterations, or the damping is out of range.
    """
    require_iterations(iterations)
    require_damping(damping)
    model = _Model(problem)
    point = model.independent()
    batch = len(problem.scores)
    residual = problem.scores.new_zeros(batch)
    sweeps = torch.zeros(batch, dtype=torch.int64, device=residual.device)
    active = torch.ones(batch, dtype=torch.bool, device=residual.device)
    energies = []
    for _ in range(iterations):
        moved = model.sweep(point, damping)
        residual = torch.where(active, (moved - point).detach().abs().amax(-1), residual)
        point = torch.where(active.unsqueeze(-1), moved, point)
        energies.append(model.free_energy(point))
        sweeps = sweeps + active
        active = active & ~(residual <= tol)
        if not bool(active.any()):
            break
    if bool(active.any()):
        warnings.warn(
            f"mean_field stopped after {iterations} sweeps with probabilities that still change by "
            f"{residual.max().item():.2g}",
            stacklevel=3,
        )
    shape = problem.batch_shape
    return MeanField(
        arrays.shaped(point.reshape(*shape, point.shape[1]).to(problem.type)),
        torch.stack(energies, -1).reshape(*shape, len(energies)).to(problem.type),
        ~active.reshape(shape),
        residual.reshape(shape),
        sweeps.reshape(shape),
    )


class _Model:
    """A graph of soft factors, cut into blocks."""

    def __init__(self, problem: Problem) -> None:
        self._scores = problem.scores
        device = problem.scores.device
        self._factors: list[tuple[Soft, Tensor, Tensor]] = []
        for factor in problem.factors:
            index = torch.from_numpy(factor.variables.index).to(device)
            negated = torch.from_numpy(factor.variables.negated).to(device)
            self._factors.append((_require_soft(factor), index, negated))
        self._blocks = blocks_of(problem.layout.variables, problem.factors)
        self._steps = [
            [(torch.from_numpy(index).to(device), grouped) for index, grouped in step]
            for step in colours(self._blocks, problem.factors)
        ]

    def independent(self) -> Tensor:
        """The probabilities ``(batch, V)`` if there were no factors."""
        return self._updated(
            torch.zeros_like(self._scores),
            self._scores,
            [stack for step in self._steps for stack in step],
            0.0,
        )

    def sweep(self, point: Tensor, damping: float) -> Tensor:
        """Update each block once."""
        for step in self._steps:
            point = self._updated(point, self._scores + self._fields(point), step, damping)
        return point

    def free_energy(self, point: Tensor) -> Tensor:
        """Minus the expected score and the entropy, ``(batch,)``."""
        scores = torch.where(self._scores == NEG_INF, torch.zeros_like(self._scores), self._scores)
        total = (scores * point).sum(-1) + self._entropy(point)
        for factor, index, negated in self._factors:
            total = total + factor.expected(_seen(point[:, index], negated))
        return -total

    def _fields(self, point: Tensor) -> Tensor:
        """The derivative of the factors' expected scores by each probability."""
        total = torch.zeros_like(point)
        for factor, index, negated in self._factors:
            field = factor.fields(_seen(point[:, index], negated))
            total = total.index_add(1, index, torch.where(negated, -field, field))
        return total

    def _updated(
        self, point: Tensor, fields: Tensor, step: list[tuple[Tensor, bool]], damping: float
    ) -> Tensor:
        for index, grouped in step:
            at = fields[:, index]
            best = log_softmax(at, -1).exp() if grouped else at.sigmoid()
            value = damping * point[:, index] + (1 - damping) * best
            point = point.index_copy(1, index.reshape(-1), value.flatten(1))
        return point

    def _entropy(self, point: Tensor) -> Tensor:
        entropy = _entr(point)
        total = torch.zeros_like(point[:, 0])
        for step in self._steps:
            for index, grouped in step:
                each = entropy[:, index] if grouped else entropy[:, index] + _entr(1 - point[:, index])
                total = total + each.flatten(1).sum(-1)
        return total


def _seen(point: Tensor, negated: Tensor) -> Tensor:
    return torch.where(negated, 1 - point, point)


def _entr(p: Tensor) -> Tensor:
    """-p log p, with derivative 0 at 0."""
    inside = p > 0
    return torch.where(
        inside, torch.special.entr(torch.where(inside, p, torch.ones_like(p))), torch.zeros_like(p)
    )


def _require_soft(factor: AnyFactor) -> Soft:
    """The factor as one that forbids nothing.

    Raises:
        ValueError: If it forbids assignments.
    """
    if isinstance(factor, Soft) and factor.is_finite():
        return factor
    raise ValueError(
        f"{factor} forbids assignments, or may do so, and independent variables cannot: mean_field takes "
        "Pairwise, Dense and Chain with finite scores, and Xor as a group of alternatives; use "
        "belief_propagation or lp_sparsemap"
    )
