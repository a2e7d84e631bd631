"""Ground truth for LP-SparseMAP and LP-MAP on small graphs: an interior-point method and a final exact step.

    max  <scores, mu> - curvature / 2 |mu|^2 + sum_f <local scores of f, w_f>
    such that the variables of f are  sum_y w_f(y) y,  w_f >= 0,  sum w_f = 1

Factors are represented by their enumerated assignments, and bands by their inequalities: no code is shared with
the solvers under test. The linear algebra is dense, in float64, for up to a few hundred unknowns.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.optimize

from strukt.inference.lp_sparsemap.graph import BAND, OR_OUT, PAIR, Layout
from strukt.kernels.arrays import Array

STEPS = 100
"""Bound on the steps of the interior-point method, which needs about fifteen."""


class Program(NamedTuple):
    """Quadratic program ``min 1/2 sum h z^2 - <c, z>`` subject to ``equal z = right`` and ``rows z <= bounds``."""

    h: Array
    c: Array
    equal: Array
    right: Array
    rows: Array
    bounds: Array


def lp_sparsemap_marginals(
    layout: Layout, scores: Array, pair_scores: Array | None = None, tables: Sequence[tuple[Array, Array]] = (),
    curvature: float = 1.0,
) -> tuple[Array, float]:  # fmt: skip
    """Return the marginals ``(V,)`` of one graph and the value of the objective.

    Args:
        layout: The variables and factors of the graph.
        scores: ``(V,)``, the scores of the variables; -inf for a variable that must be 0.
        pair_scores: ``(q,)``, the scores of pairs; -inf if the variables may not both be 1.
        tables: The assignments ``(k, size)`` of each oracle and their local scores ``(k,)``.
        curvature: 1.0, or 0.0 for the linear program, whose marginals may not be unique.

    Raises:
        ValueError: If the method does not converge, which means that the program is infeasible.
    """
    program = lp_sparsemap_program(layout, scores, pair_scores, tables, curvature)
    z = minimise(program)
    value = program.c @ z - 0.5 * (program.h * z) @ z
    return z[: layout.variables], float(value)


def lp_sparsemap_program(
    layout: Layout, scores: Array, pair_scores: Array | None = None, tables: Sequence[tuple[Array, Array]] = (),
    curvature: float = 1.0,
) -> Program:  # fmt: skip
    """Return the program over the marginals and the weights of the assignments of all factors except bands."""
    v, remaining = layout.variables, list(tables)
    weighted: list[tuple[Array, Array, Array, Array]] = []  # variables, negated, assignments, local scores
    rows, bounds = [np.eye(v), -np.eye(v)], [np.ones(v), np.zeros(v)]
    level: list[tuple[Array, float]] = []  # planes
    for f, kind in enumerate(layout.kinds):
        part = slice(layout.starts[f], layout.starts[f + 1])
        copies, negated = layout.copies[part], layout.negated[part]
        if kind == BAND:
            row, shift = np.zeros((1, v)), layout.costs[part][negated].sum()
            row[0, copies] = np.where(negated, -1.0, 1.0) * layout.costs[part]
            if layout.low[f] == layout.high[f]:
                level.append((row, layout.low[f] - shift))
                continue
            for bound, sign in ((layout.high[f], 1.0), (layout.low[f], -1.0)):
                if np.isfinite(bound):
                    rows.append(sign * row)
                    bounds.append(np.array([sign * (bound - shift)]))
        else:
            weighted.append((copies, negated, *_assignments(layout, f, pair_scores, remaining)))
    count = sum(len(vertices) for _, _, vertices, _ in weighted)
    possible = scores > -np.inf
    equal, right = [_pad(np.eye(v)[~possible], count)], [np.zeros(int((~possible).sum()))]
    for row, bound in level:
        equal.append(_pad(row, count))
        right.append(np.array([bound]))
    costs, at = [np.where(possible, scores, 0.0)], v
    for copies, negated, vertices, values in weighted:
        k = len(vertices)
        block = np.zeros((len(copies) + 1, v + count))
        block[np.arange(len(copies)), copies] = 1.0
        block[:-1, at : at + k] = -np.where(negated, 1.0 - vertices, vertices).T
        block[-1, at : at + k] = 1.0
        equal.append(block)
        right.append(np.append(np.zeros(len(copies)), 1.0))
        costs.append(values)
        at += k
    positive = np.hstack([np.zeros((count, v)), -np.eye(count)])
    return Program(
        h=np.append(np.full(v, curvature), np.zeros(count)),
        c=np.concatenate(costs),
        equal=np.vstack(equal),
        right=np.concatenate(right),
        rows=np.vstack([_pad(np.vstack(rows), count), positive]),
        bounds=np.concatenate([*bounds, np.zeros(count)]),
    )


def _pad(rows: Array, count: int) -> Array:
    return np.hstack([rows, np.zeros((len(rows), count))])


def _assignments(
    layout: Layout, f: int, pair_scores: Array | None, tables: list[tuple[Array, Array]]
) -> tuple[Array, Array]:
    """Return the assignments ``(k, size)`` that a factor permits, and their local scores ``(k,)``."""
    size = int(layout.starts[f + 1] - layout.starts[f])
    if layout.kinds[f] == OR_OUT:
        inputs = list(itertools.product((0.0, 1.0), repeat=size - 1))
        return np.array([[*row, max(row, default=0.0)] for row in inputs]), np.zeros(len(inputs))
    if layout.kinds[f] == PAIR:
        assert pair_scores is not None
        score = pair_scores[layout.pair[f]]
        vertices = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        values = np.array([0.0, 0.0, 0.0, score])
        return vertices[values > -np.inf], values[values > -np.inf]
    return tables.pop(0)


def minimise(program: Program) -> Array:
    """Return the solution z by Mehrotra's predictor-corrector method (Nocedal and Wright 2006, algorithm 16.4).

    SciPy solves linear programs, whose solution may not be unique.

    Raises:
        ValueError: If the method does not converge, or the program is infeasible.
    """
    if not program.h.any():
        return _linear(program)
    with np.errstate(all="ignore"):
        best, error = _interior(program)
    slack = program.bounds - program.rows @ best
    for nearness in (1e-10, 1e-8, 1e-6, 1e-4, 1e-3):
        exact = _on_face(program, best, slack < nearness)
        if exact is not None:
            return exact
    if error > 1e-11:
        raise ValueError(f"the interior-point method stopped at an error of {error:.2g}; is it infeasible?")
    return best


def _interior(program: Program) -> tuple[Array, float]:
    """Return the best point of the interior-point method, and its error."""
    h, c, equal, right, rows, bounds = program
    z, y, dual = np.zeros(len(c)), np.zeros(len(right)), np.ones(len(bounds))
    slack = np.maximum(bounds - rows @ z, 1.0)
    scale = 1.0 + np.abs(c).max(initial=0.0)
    best, error = z, float(np.inf)
    for _ in range(STEPS):
        residual = (h * z - c + equal.T @ y + rows.T @ dual, equal @ z - right, rows @ z + slack - bounds)
        now = max(*(float(np.abs(r).max(initial=0.0)) for r in residual), float(slack @ dual)) / scale
        best, error = (z, now) if now < error else (best, error)
        if now < 1e-14 or not now <= 1e6 * error:
            break
        system = _system(program, dual / slack)
        if not np.isfinite(system).all():
            break
        step = _direction(program, system, residual, slack, dual, slack * dual)
        mean = slack @ dual / len(slack)
        far = _length(slack, step[2], dual, step[3], 1.0)
        after = (slack + far * step[2]) @ (dual + far * step[3]) / len(slack)
        aim = slack * dual + step[2] * step[3] - (after / mean) ** 3 * mean
        if not np.isfinite(aim).all():
            break
        step = _direction(program, system, residual, slack, dual, aim)
        far = _length(slack, step[2], dual, step[3], 0.995)
        z, y, slack, dual = z + far * step[0], y + far * step[1], slack + far * step[2], dual + far * step[3]
        slack, dual = np.maximum(slack, 1e-300), np.maximum(dual, 1e-300)
    return best, error


def _linear(program: Program) -> Array:
    _, c, equal, right, rows, bounds = program
    result = scipy.optimize.linprog(-c, rows, bounds, equal, right, bounds=(None, None))
    if result.status != 0:
        raise ValueError(f"the linear program has no solution: {result.message}")
    z: Array = result.x
    return z


def _system(program: Program, ratio: Array) -> Array:
    h, _, equal, right, rows, _ = program
    top = np.diag(h + 1e-14) + (rows.T * ratio) @ rows
    return np.block([[top, equal.T], [equal, -1e-14 * np.eye(len(right))]])


def _direction(
    program: Program,
    system: Array,
    residual: tuple[Array, Array, Array],
    slack: Array,
    dual: Array,
    aim: Array,
) -> tuple[Array, Array, Array, Array]:
    rows, n = program.rows, len(program.c)
    first = -residual[0] - rows.T @ ((dual * residual[2] - aim) / slack)
    target = np.append(first, -residual[1])
    result = _solve(system, target)
    result += _solve(system, target - system @ result)
    d_slack = -residual[2] - rows @ result[:n]
    return result[:n], result[n:], d_slack, (-aim - dual * d_slack) / slack


def _solve(system: Array, target: Array) -> Array:
    try:
        result: Array = np.linalg.solve(system, target)
    except np.linalg.LinAlgError:
        result = np.linalg.lstsq(system, target, rcond=None)[0]
    return result


def _length(slack: Array, d_slack: Array, dual: Array, d_dual: Array, part: float) -> float:
    value, change = np.append(slack, dual), np.append(d_slack, d_dual)
    falling = change < 0
    return min(1.0, part * float((-value[falling] / change[falling]).min(initial=np.inf)))


def _on_face(program: Program, near: Array, active: Array) -> Array | None:
    """Return the solution nearest to ``near`` with the ``active`` inequalities as equations, if it is optimal.

    It is optimal if it is feasible, and multipliers that balance the gradient exist, nonnegative for inequalities.
    Otherwise, return None.
    """
    h, c, equal, right, rows, bounds = program
    held = np.vstack([equal, rows[active]])
    system = np.block([[np.diag(h), held.T], [held, np.zeros((len(held), len(held)))]])
    target = np.concatenate([c - h * near, right - equal @ near, bounds[active] - rows[active] @ near])
    z = near + np.linalg.lstsq(system, target, rcond=1e-13)[0][: len(c)]
    met = np.abs(equal @ z - right).max(initial=0.0) < 1e-11 and (rows @ z <= bounds + 1e-11).all()
    if not met:
        return None
    touched = rows[rows @ z > bounds - 1e-9]
    normals = np.hstack([equal.T, -equal.T, touched.T])
    if not normals.shape[1]:
        return z if np.abs(c - h * z).max(initial=0.0) < 1e-11 else None
    _, left = scipy.optimize.nnls(normals, c - h * z, maxiter=50 * normals.shape[1])
    return z if left < 1e-10 * (1.0 + np.abs(c).max(initial=0.0)) else None
