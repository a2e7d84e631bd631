"""Minimisation of convex objectives: by OWL-QN with an L1 penalty, by SciPy's L-BFGS-B without."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult
from scipy.optimize import minimize as scipy_minimize
from threadpoolctl import threadpool_limits

from strukt.kernels.arrays import Array

Objective = Callable[[Array], tuple[float, Array]]
"""A function of a point that returns the value and the gradient."""

Report = Callable[[int, float, Array], None]
"""A function of the number of an iteration, the objective, and the point."""

SUFFICIENT = 1e-4
"""Share of the decrease predicted by the gradient that the line search requires (Armijo 1966)."""

MEMORY = 10
"""Number of previous steps from which the curvature is estimated."""


class OneThread:
    """A context in which BLAS runs on one thread; several threads may enter it at once.

    The number of threads is a setting of the whole process. A thread that leaves restores the number from before
    the first thread entered.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            limits = threadpool_limits(1, "blas")
            if self._users == 0:
                self._limits = limits
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._limits.restore_original_limits()
            self._users -= 1


ONE_THREAD = OneThread()


class Stopping(NamedTuple):
    """Stopping criteria, with the names of CRFsuite; minimisation ends when one of them is met.

    Attributes:
        max_iterations: Maximum number of iterations, 1 or more; no limit if None.
        epsilon: Stop when the gradient is smaller: for OWL-QN, its norm divided by the larger of 1 and the norm of
            the point; for L-BFGS-B, its largest absolute entry.
        period: Number of iterations over which the decrease of the objective is measured.
        delta: Stop when the relative decrease of the objective over `period` iterations is less.
    """

    max_iterations: int | None = None
    epsilon: float = 1e-5
    period: int = 10
    delta: float = 1e-5


class Minimum(NamedTuple):
    """The result of a minimisation over points with n coordinates.

    Attributes:
        point: `(n,)`, the last point.
        value: The objective at this point, with the penalty.
        iterations: Number of iterations.
        converged: False if the minimisation ended only because of `Stopping.max_iterations`.
    """

    point: Array
    value: float
    iterations: int
    converged: bool


def print_progress(iteration: int, loss: float, point: Array) -> None:
    """Print the objective and the number of coordinates that are not 0; an argument `report` of `minimise`."""
    print(f"Iter {iteration:<4} loss={loss:<12.2f} active={np.count_nonzero(point)}", flush=True)


def minimise(
    objective: Objective,
    start: Array,
    l1: float = 0.0,
    stopping: Stopping = Stopping(),  # noqa: B008
    report: Report | None = None,
) -> Minimum:
    """Minimise `objective(x) + l1 * |x|_1` for a convex and smooth objective.

    Args:
        objective: Returns the value and the gradient `(n,)`, a new array, of the smooth part at a point `(n,)`,
            which it must not modify.
        start: `(n,)`, the first point; it is not modified.
        l1: Weight of the L1 norm, 0 or more.
        stopping: The stopping criteria.
        report: Called after each iteration with its number, from 1, the value of the objective with the penalty,
            and the point, which it must not modify. None for no reports.

    With a penalty, the algorithm is OWL-QN (Andrew and Gao 2007, algorithm 2), but the curvature is estimated only
    for coordinates that are not 0, as in the projected scaled sub-gradient method (Gafni-Bertsekas variant,
    Schmidt 2010), which takes 0.6 to 0.8 times as many iterations. Coordinates that a step of gradient descent
    would bring to 0 are left out, too, because steps might become ever shorter otherwise (Bertsekas 1982). Without
    a penalty, the algorithm is SciPy's L-BFGS-B (Byrd et al. 1995). During minimisation, BLAS runs on one thread:
    the algorithms only add and multiply vectors, for which more threads mostly wait.

    Complexity: Time O(n) per iteration for n coordinates, in addition to the objective.

    Examples:
        >>> def squares(x):
        ...     return float(((x - [3.0, 0.5]) ** 2).sum()), 2 * (x - [3.0, 0.5])
        >>> minimise(squares, np.zeros(2), l1=2.0).point
        array([2., 0.])
    """
    with ONE_THREAD:
        if l1:
            return _owl_qn(objective, start, l1, stopping, report)
        return _lbfgs(objective, start, stopping, report)


def _lbfgs(objective: Objective, start: Array, stopping: Stopping, report: Report | None) -> Minimum:
    """Minimise an objective without a penalty by SciPy's L-BFGS-B, with CRFsuite's stopping criteria."""
    values: list[float] = []

    def watch(intermediate_result: OptimizeResult) -> None:
        values.append(float(intermediate_result.fun))
        if report is not None:
            report(len(values), values[-1], intermediate_result.x)
        if _stalls(values, stopping):
            raise StopIteration

    bound = np.inf if stopping.max_iterations is None else stopping.max_iterations
    options = {
        "maxcor": MEMORY,
        "maxiter": bound,
        "maxfun": np.inf,
        "ftol": 0.0,
        "gtol": stopping.epsilon,
    }
    result = scipy_minimize(objective, start, jac=True, method="L-BFGS-B", callback=watch, options=options)
    return Minimum(result.x, float(result.fun), result.nit, result.nit < bound or _stalls(values, stopping))


def _owl_qn(
    objective: Objective, start: Array, l1: float, stopping: Stopping, report: Report | None
) -> Minimum:
    """Minimise an objective with an L1 penalty; see `minimise`."""
    point, (smooth, gradient) = start, objective(start)
    values, curvature = [smooth + l1 * float(np.abs(point).sum())], Curvature()
    while True:
        slope, iterations = pseudo_gradient(point, gradient, l1), len(values) - 1
        if np.linalg.norm(slope) <= stopping.epsilon * max(1.0, float(np.linalg.norm(point))):
            return Minimum(point, values[-1], iterations, True)
        if _stalls(values, stopping):
            return Minimum(point, values[-1], iterations, True)
        if iterations == stopping.max_iterations:
            return Minimum(point, values[-1], iterations, False)
        kept = point * (point - curvature.scale * slope) > 0.0
        direction = curvature.direction(slope, np.flatnonzero(kept))
        step = _line_search(objective, point, values[-1], slope, direction, l1, iterations == 0)
        if step is None:  # the value cannot decrease any further in this precision
            return Minimum(point, values[-1], iterations, True)
        following, value, steeper = step
        curvature.update(following - point, steeper - gradient)
        point, gradient = following, steeper
        values.append(value)
        if report is not None:
            report(iterations + 1, value, point)


def pseudo_gradient(point: Array, gradient: Array, l1: float) -> Array:
    """Return the element of the subdifferential with the least norm, `(n,)` (Andrew and Gao 2007, equation 4).

    Its negative is the direction of steepest descent. A coordinate is 0 if the objective rises in both directions.
    """
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(point == 0.0, at_zero, gradient + l1 * np.sign(point))


class Curvature:
    """An estimate of the inverse Hessian from the last steps and the changes of the gradient along them."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Array, Array]] = deque(maxlen=MEMORY)

    def update(self, step: Array, change: Array) -> None:
        """Add a step `(n,)` and the change of the gradient along it; ignore steps without positive curvature."""
        if step @ change > 0.0:
            self._pairs.append((step, change))

    @property
    def scale(self) -> float:
        """The inverse curvature along the last step; 1 before the first step."""
        if not self._pairs:
            return 1.0
        step, change = self._pairs[-1]
        return float(step @ change) / float(change @ change)

    def direction(self, slope: Array, free: Array) -> Array:
        """Return minus the inverse Hessian times the (pseudo-)gradient `(n,)`.

        For the coordinates with indices `free`, it is computed by the two-loop recursion of Nocedal (1980). The
        other coordinates are treated as independent, with the curvature of the last step.
        """
        if not self._pairs:
            return -slope
        scale = self.scale
        pairs = [(step[free], change[free]) for step, change in self._pairs]
        kept = [(step, change, float(step @ change)) for step, change in pairs if step @ change > 0.0]
        inner, shares = -slope[free], []
        for step, change, product in reversed(kept):
            shares.append(float(step @ inner) / product)
            inner -= shares[-1] * change
        inner *= scale
        for (step, change, product), share in zip(kept, reversed(shares), strict=True):
            inner += (share - float(change @ inner) / product) * step
        direction = -scale * slope
        direction[free] = inner
        return direction


def _line_search(
    objective: Objective, point: Array, value: float, slope: Array, direction: Array, l1: float, first: bool
) -> tuple[Array, float, Array] | None:
    """Halve the step until the value decreases enough; return the new point, its value and its smooth gradient.

    The point stays in its orthant: a coordinate that would change its sign becomes 0. Return None if the value
    does not decrease enough in 40 trials.
    """
    size = 1.0 / max(float(np.linalg.norm(direction)), 1.0) if first else 1.0
    orthant = np.where(point == 0.0, -np.sign(slope), np.sign(point))
    for _ in range(40):
        following = point + size * direction
        following[following * orthant < 0.0] = 0.0
        smooth, gradient = objective(following)
        reached = smooth + l1 * float(np.abs(following).sum())
        if reached <= value + SUFFICIENT * float(slope @ (following - point)) and reached < value:
            return following, reached, gradient
        size /= 2.0
    return None


def _stalls(values: list[float], stopping: Stopping) -> bool:
    """Return True if the objective decreased by less than the share `delta` over the last `period` iterations."""
    if len(values) <= stopping.period:
        return False
    return values[-1 - stopping.period] - values[-1] < stopping.delta * abs(values[-1])
