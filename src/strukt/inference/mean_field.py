"""Mean field: approximation of a distribution by independent variables or groups of variables.

In a group, exactly one variable is 1. For a product q of blocks (variables or groups), the free energy
``-E_q[score] - sum_b lambda_b H(q_b)`` bounds -log Z from above if no weight lambda exceeds 1 (Wainwright and
Jordan 2008, section 5). Setting one block to its best value given all others (coordinate ascent on the lower bound
of log Z) never raises the free energy. Blocks that share no term of the score may be updated at once; blocks that
share one may be updated at once only with a small step size. With other weights this is the regularised
Frank-Wolfe algorithm of Lê-Huu and Alahari (2021); with the squared norm in place of the entropy, the marginals
are sparse.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from strukt.inference.fixed_point import fixed_point
from strukt.inference.regularizers import REGULARIZERS
from strukt.inference.settings import (
    for_each,
    holds,
    require_damping,
    require_iterations,
    require_one_of,
    require_step,
    require_tolerance,
)
from strukt.kernels.semiring import finite

Marginals = TypeVar("Marginals", covariant=True)


@dataclass(frozen=True)
class MeanField(Generic[Marginals]):
    """Marginals of independent variables or groups, and the free energy after each sweep.

    Attributes:
        marginals: The probability that each variable is 1, in the shape of the variables; differentiable.
        energy: ``batch + (sweeps,)``, minus the expected score after each sweep; differentiable. +inf if all
            variables of a group are forbidden, if required variables (`BinaryCRF.condition`) are, or if both
            variables of a forbidden pair have a positive probability.
        free_energy: ``batch + (sweeps,)``, the energy minus the weighted entropies; differentiable. With all
            weights at most 1, it is never below minus the log-partition. It never rises unless blocks that depend
            on each other are updated at once, or a step size below 1 is combined with damping.
        status: ``batch``, Boolean: True if the residual is at most the tolerance; without one, if it is 0.
        residual: ``batch``, the largest change of a probability in the last sweep.
        iterations: ``batch``, the number of sweeps.
    """

    marginals: Marginals
    energy: Tensor
    free_energy: Tensor
    status: Tensor
    residual: Tensor
    iterations: Tensor

    @property
    def lower_bound(self) -> Tensor:
        """A lower bound on the log-partition, ``batch``, if all weights are at most 1."""
        return -self.free_energy[..., -1]


@dataclass(frozen=True)
class Settings:
    """The settings of mean field.

    ``step_size``, ``damping`` and ``weight`` are numbers, or tensors ``(V,)`` with a number for each variable.

    Attributes:
        iterations: The maximum number of sweeps over all blocks.
        tol: An item of the batch has converged once its residual is at most this, and is then no longer updated.
            None to make all sweeps.
        step_size: The weight of the new value of a probability, above 0 and up to 1; the old value has the
            remaining weight.
        damping: The weight of the old message to a variable, from 0 to below 1. The first messages are the scores.
        weight: The weight lambda of the regulariser.
        regularizer: ``entropy``, with which an update is a softmax; or ``sparsemax``, half the squared norm, with
            which it is a sparsemax.
        gradients: ``unrolled`` through all sweeps; or ``implicit``, at the fixed point only: first derivatives
            only, in the memory of one sweep.

    Raises:
        ValueError: If a setting is out of range.
    """

    iterations: int
    tol: float | None = None
    step_size: float | Tensor = 1.0
    damping: float | Tensor = 0.0
    weight: float | Tensor = 1.0
    regularizer: Literal["entropy", "sparsemax"] = "entropy"
    gradients: Literal["unrolled", "implicit"] = "unrolled"

    def __post_init__(self) -> None:
        require_iterations(self.iterations)
        require_step(self.step_size)
        require_damping(self.damping)
        if not holds(self.weight > 0):
            raise ValueError(f"weight is {self.weight}; expected more than 0")
        if self.tol is not None:
            require_tolerance(self.tol)
        require_one_of("regularizer", self.regularizer, tuple(REGULARIZERS))
        require_one_of("gradients", self.gradients, ("unrolled", "implicit"))


class Blocks(NamedTuple):
    """Blocks of one size that are updated at once.

    Attributes:
        variables: ``(blocks, size)``, the indices of the variables of each block.
        grouped: Whether exactly one variable of each block is 1; otherwise each block is a single free variable.
    """

    variables: Tensor
    grouped: bool


Schedule = Sequence[Sequence[Blocks]]
"""The steps of a sweep, each with the blocks that it updates at once. Each variable is in one block."""


class Model(Protocol):
    """The interface of models of V binary variables for mean field, at a batch of points ``(batch, V)``."""

    @property
    def scores(self) -> Tensor:
        """The score of each variable if it is 1, whatever the other variables are: ``(batch, V)``."""

    def fields(self, point: Tensor, variables: Sequence[Tensor]) -> list[Tensor]:
        """Return the derivatives of `expected` with respect to probabilities.

        Args:
            point: ``(batch, V)``, the probabilities.
            variables: Tensors ``(k, m)`` of variables; the result has derivatives ``(batch, k, m)`` for each.
        """

    def expected(self, point: Tensor) -> Tensor:
        """Return the expected sum of all other scores, ``(batch,)``; linear in each block's probabilities."""


def mean_field(model: Model, schedule: Schedule, settings: Settings) -> MeanField[Tensor]:
    """Run mean field: sweeps over the steps of a schedule, from the marginals of the unary scores alone.

    Warn if some item has not converged after all sweeps, unless the tolerance is None.

    Returns:
        The result with one batch axis and one axis of variables: ``marginals (batch, V)``.
    """
    solver = _Solver(model, schedule, settings)
    with torch.set_grad_enabled(torch.is_grad_enabled() and settings.gradients == "unrolled"):
        result = solver.run()
    if settings.tol is not None and not bool(result.status.all()):
        warnings.warn(
            f"mean_field stopped after {settings.iterations} sweeps with probabilities that still change by "
            f"{result.residual.max().item():.2g}",
            stacklevel=4,
        )
    if settings.gradients == "unrolled":
        return result
    point = solver.implicit(result.marginals)
    energy, free = solver.energies(point)
    return replace(
        result,
        marginals=point,
        energy=torch.cat([result.energy[:, :-1], energy.unsqueeze(1)], 1),
        free_energy=torch.cat([result.free_energy[:, :-1], free.unsqueeze(1)], 1),
    )


class _State(NamedTuple):
    """The state before a sweep: probabilities ``(batch, V)`` and messages to the variables ``(batch, V)``."""

    point: Tensor
    messages: Tensor


class _Solver:
    """The sweeps of mean field over one model."""

    def __init__(self, model: Model, schedule: Schedule, settings: Settings) -> None:
        self._model, self._schedule, self._settings = model, schedule, settings
        self._regularizer = REGULARIZERS[settings.regularizer]
        self._weight, self._step_size, self._damping = (
            for_each(name, getattr(settings, name), model.scores)
            for name in ("weight", "step_size", "damping")
        )
        self._damps, self._steps = bool(self._damping.any()), bool((self._step_size < 1).any())

    def run(self) -> MeanField[Tensor]:
        """Make sweeps until all items have converged, or for the maximum number of sweeps."""
        settings, scores = self._settings, self._model.scores
        state = _State(self._independent(), scores)
        batch = len(scores)
        residual = scores.new_zeros(batch)
        sweeps = torch.zeros(batch, dtype=torch.int64, device=scores.device)
        active = torch.ones(batch, dtype=torch.bool, device=scores.device)
        energies = []
        for _ in range(settings.iterations):
            moved = self._sweep(state, self._damps)
            change = (moved.point - state.point).detach().abs()
            change = change.amax(-1) if change.numel() else residual
            residual = torch.where(active, change, residual)
            kept = active.unsqueeze(-1)
            state = _State(*(torch.where(kept, new, old) for new, old in zip(moved, state, strict=True)))
            energies.append(self.energies(state.point))
            sweeps = sweeps + active
            if settings.tol is not None:
                active = active & ~(residual <= settings.tol)
                if not bool(active.any()):
                    break
        energy, free = (torch.stack(trace, -1) for trace in zip(*energies, strict=True))
        status = ~active if settings.tol is not None else residual == 0
        return MeanField(state.point, energy, free, status, residual, sweeps)

    def implicit(self, point: Tensor) -> Tensor:
        """Return the fixed point p = f(p) with its derivative dp = (1 - df/dp)^-1 df (Bai et al. 2019)."""

        def swept(point: Tensor) -> Tensor:
            return self._sweep(_State(point, point), False).point

        return fixed_point(point, swept)

    def energies(self, point: Tensor) -> tuple[Tensor, Tensor]:
        """Return the negative expected score, and the free energy: ``(batch,)`` each."""
        energy = -(finite(self._model.scores) * point).sum(-1) - self._model.expected(point)
        for step in self._schedule:
            for variables, grouped in step:
                if grouped:  # if all scores of a group are -inf, no variable of it can be 1
                    none = (point[:, variables].sum(-1) == 0).any(-1)
                    energy = energy.masked_fill(none, torch.inf)
        free = energy
        for step in self._schedule:
            for variables, grouped in step:
                local = point[:, variables]
                each = self._regularizer.entropy(local if grouped else torch.cat([local, 1 - local], -1))
                free = free - (each.sum(-1) * self._weight[variables[:, 0]]).sum(-1)
        return energy, free

    def _independent(self) -> Tensor:
        """Return the probabilities ``(batch, V)`` from the scores of single variables alone."""
        scores = self._model.scores
        point = torch.zeros_like(scores)
        for step in self._schedule:
            for blocks in step:
                value = self._best(scores[:, blocks.variables], blocks)
                point = point.index_copy(1, blocks.variables.reshape(-1), value.flatten(1))
        return point

    def _sweep(self, state: _State, damped: bool) -> _State:
        """Update each block once; without damping, earlier messages have no effect."""
        point, messages = state
        for step in self._schedule:
            moved = self._model.fields(point, [blocks.variables for blocks in step])
            for blocks, fields in zip(step, moved, strict=True):
                flat = blocks.variables.reshape(-1)
                message = self._model.scores[:, blocks.variables] + fields
                if damped:
                    old = self._damping[blocks.variables]
                    message = (1 - old) * message + old * messages[:, blocks.variables]
                    messages = messages.index_copy(1, flat, message.flatten(1))
                value = self._best(message, blocks)
                if self._steps:
                    new = self._step_size[blocks.variables]
                    value = new * value + (1 - new) * point[:, blocks.variables]
                point = point.index_copy(1, flat, value.flatten(1))
        return _State(point, messages)

    def _best(self, messages: Tensor, blocks: Blocks) -> Tensor:
        """Return the new probabilities of blocks, ``(batch, blocks, size)``, from messages of that shape."""
        weighted = messages / self._weight[blocks.variables[:, :1]]
        return self._regularizer.best(weighted, blocks.grouped)
