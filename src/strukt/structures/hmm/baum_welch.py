"""Fits of hidden Markov models by EM (Baum-Welch) or gradients, from one start or several."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Generic, NamedTuple, TypeVar

import torch
import typing_extensions
from torch import Tensor
from torch.optim import Optimizer

from strukt.checks.lengths import Lengths
from strukt.errors import OutOfRangeError
from strukt.structures.hmm.estimation import HMMEstimation
from strukt.structures.hmm.priors import Priors
from strukt.structures.hmm.results import Fit

Model = TypeVar("Model", bound=HMMEstimation)
MakeOptimizer = Callable[[list[Tensor]], Optimizer]


class Progress(NamedTuple):
    """The log-density of observations and parameters before a step, and the number of impossible sequences."""

    log_prob: float
    impossible: int

    def rises(self, before: Progress | None, tolerance: float) -> bool:
        """Return True if this log-density exceeds the one before by more than ``tolerance``, or is the first."""
        return before is None or self.log_prob > before.log_prob + tolerance


class SingleFit(typing_extensions.NamedTuple, Generic[Model]):
    """The result of one fit.

    Attributes:
        model: The model after the last step; the initial model if the fit diverged.
        reached: The progress before each step; -inf at the end if the fit diverged.
        converged: Whether the last improvement was at most the tolerance.
        diverged: Whether a parameter became NaN or infinite.
    """

    model: Model
    reached: list[Progress]
    converged: bool
    diverged: bool = False

    @property
    def rank(self) -> tuple[bool, int, float]:
        """The sort key of fits; better fits have a larger one."""
        return not self.diverged, -self.reached[-1].impossible, self.reached[-1].log_prob


class _DivergedError(Exception):
    """A parameter has become NaN or infinite."""


def best(
    start: Model,
    x: Tensor,
    lengths: Lengths | None,
    steps: int,
    tolerance: float,
    restarts: int,
    priors: Priors,
    optimizer: MakeOptimizer | None,
) -> Fit[Model]:
    """Return the best of the fits from ``start`` and from random restarts.

    Arguments, warnings and errors are those of `strukt.HMM.fit`.
    """
    _require_settings(steps, tolerance, restarts, priors, optimizer)
    winner: SingleFit[Model] | None = None
    for number in range(restarts + 1):
        model = start.redrawn(x, lengths) if number else start
        if optimizer is None:
            climb = _by_em(model, x, lengths, steps, tolerance, priors)
        else:
            climb = _along_gradients(model, x, lengths, steps, tolerance, priors, optimizer)
        if winner is None or climb.rank > winner.rank:
            winner = climb
    assert winner is not None
    if winner.diverged:
        raise OutOfRangeError(
            "parameters became NaN or infinite during the fit; use smaller steps of the optimizer, priors that "
            "keep variances above 0, or expectation maximisation (optimizer=None)"
        )
    if left_out := winner.reached[-1].impossible:
        warnings.warn(
            f"{left_out} sequence{'s have' if left_out > 1 else ' has'} probability 0 under the model, so the fit "
            "left them out; give every observation of x some probability, for example by restarts",
            stacklevel=3,
        )
    log_probs = torch.tensor([step.log_prob for step in winner.reached], dtype=torch.float64)
    return Fit(winner.model, log_probs, winner.converged)


def _require_settings(steps: Any, tolerance: Any, restarts: Any, priors: Any, optimizer: Any) -> None:
    for name, value, least in (("steps", steps, 1), ("restarts", restarts, 0)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} is {value!r}; expected a whole number of {least} or more")
    if not isinstance(tolerance, Real) or not (float(tolerance) >= 0 or tolerance == -math.inf):
        raise ValueError(f"tolerance is {tolerance!r}; expected a number of 0 or more, or -inf to take all steps")
    if not (optimizer is None or callable(optimizer)):
        raise ValueError(f"optimizer is {optimizer!r}; expected a function from parameters to an optimiser")
    if not isinstance(priors, Priors):
        raise ValueError(f"priors is a {type(priors).__name__}; expected Priors, such as Priors(transition=2.0)")


def _by_em(
    model: Model, x: Tensor, lengths: Lengths | None, steps: int, tolerance: float, priors: Priors
) -> SingleFit[Model]:
    """Fit from one start by expectation maximisation."""
    reached: list[Progress] = []
    for _ in range(steps):
        counts = model.expected_counts(x, lengths)
        prior = model.log_prior(priors).item()
        step = Progress(counts.log_prob.item() + prior, counts.impossible)
        model = model.maximised(counts, priors)
        rises = step.rises(reached[-1] if reached else None, tolerance)
        reached.append(step)
        if not rises:
            return SingleFit(model, reached, True)
    return SingleFit(model, reached, False)


def _along_gradients(
    model: Model,
    x: Tensor,
    lengths: Lengths | None,
    steps: int,
    tolerance: float,
    priors: Priors,
    optimizer: MakeOptimizer,
) -> SingleFit[Model]:
    """Fit from one start by gradients of the unconstrained parameters.

    An optimiser such as LBFGS may evaluate the loss several times in a step; the first is the progress of the
    step.
    """
    start = [numbers.detach() for numbers in model.unconstrained()]
    leaves = [numbers.clone().requires_grad_() for numbers in start]
    descent = optimizer(leaves)
    evaluated: list[Progress] = []

    def loss() -> float:
        descent.zero_grad()
        with torch.enable_grad():
            current = model.from_unconstrained(_permitted(leaves, start))
            log_prob = current.log_prob(x, lengths)
            possible = log_prob > -torch.inf
            total = log_prob[possible].sum() + current.log_prior(priors)
            (-total).backward()  # type: ignore[no-untyped-call]
        evaluated.append(Progress(total.item(), int((~possible).sum())))
        return -total.item()

    reached: list[Progress] = []
    converged = False
    try:
        while len(reached) < steps and not converged:
            first = len(evaluated)
            descent.step(loss)
            converged = not evaluated[first].rises(reached[-1] if reached else None, tolerance)
            reached.append(evaluated[first])
        fitted = model.from_unconstrained([leaf.detach() for leaf in _permitted(leaves, start)])
    except _DivergedError:
        return SingleFit(model, [*reached, Progress(-math.inf, 0)], False, diverged=True)
    return SingleFit(fitted, reached, converged)


def _permitted(leaves: list[Tensor], start: list[Tensor]) -> list[Tensor]:
    """Return parameters with -inf restored where it was at the start: weight decay would make it NaN.

    Raises:
        _DivergedError: If another parameter has become NaN or infinite.
    """
    kept = [
        torch.where(before == -torch.inf, before, leaf) for leaf, before in zip(leaves, start, strict=True)
    ]
    for value, before in zip(kept, start, strict=True):
        if bool((value.isnan() | (value.isinf() & before.isfinite())).any()):
            raise _DivergedError
    return kept
