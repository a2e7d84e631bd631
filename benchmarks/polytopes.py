"""SparseMAP by a general solver: the quadratic program over an explicit description of the polytope."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

Rows = tuple[sp.csc_matrix, np.ndarray, sp.csc_matrix, np.ndarray]
"""Equations ``A x = b`` and inequalities ``G x <= h``."""


def clarabel_sequences(unary: Tensor, transition: Tensor) -> Tensor:
    """Return the marginals of chains ``(batch, n, c)``; the flow into each node equals the flow out of it."""
    n, c = unary.shape[1:]
    linear = np.concatenate([_flat(unary), np.tile(_flat(transition[None]), (len(unary), n - 1))], 1)
    return _solve(linear, unary, _flows(n, c))


def clarabel_budgets(arcs: Tensor, most: int) -> Tensor:
    """Return the marginals of arborescences in which no word has more than ``most`` dependents."""
    linear = np.nan_to_num(_flat(arcs))
    n = arcs.shape[1]
    equations, right, inequalities, bounds = _arborescences(n)
    dependents = sp.kron(np.ones((1, n)), sp.eye(n, n + 1, 1))
    budgets = sp.hstack([dependents, sp.csr_matrix((n, n * linear.shape[1]))])
    rows = (
        equations,
        right,
        sp.vstack([inequalities, budgets], format="csc"),
        np.r_[bounds, np.full(n, most)],
    )
    flows = np.zeros((len(arcs), n * linear.shape[1]))
    return _solve(np.concatenate([linear, flows], 1), arcs, rows)


def clarabel_matchings(scores: Tensor) -> Tensor:
    """Return the marginals of matchings: doubly stochastic matrices."""
    return _solve(_flat(scores), scores, _doubly_stochastic(scores.shape[1]))


def clarabel_trees(arcs: Tensor) -> Tensor:
    """Return the marginals of arborescences with one root arc.

    A unit of flow leads from the root to each word; the marginals of the arcs bound it.
    """
    linear = np.nan_to_num(_flat(arcs))
    flows = np.zeros((len(arcs), arcs.shape[1] * linear.shape[1]))
    return _solve(np.concatenate([linear, flows], 1), arcs, _arborescences(arcs.shape[1]))


def clarabel_grid(unary: Tensor, pairs: Tensor) -> Tensor:
    """Return the marginals of a grid of binary variables, in its local polytope."""
    return _solve(np.concatenate([_flat(unary), _flat(pairs)], 1), unary, _grid(*unary.shape[1:]))


def _flat(scores: Tensor) -> np.ndarray:
    return scores.detach().double().flatten(1).numpy()


def _solve(linear: np.ndarray, main: Tensor, rows: Rows) -> Tensor:
    """Return the argmax of <linear, x> - |y|^2 / 2 for each item; y is the part of x for the main scores."""
    import clarabel

    equations, right, inequalities, bounds = rows
    size, quadratic = linear.shape[1], main[0].numel()
    square = sp.diags(np.r_[np.ones(quadratic), np.zeros(size - quadratic)], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    cones = [clarabel.ZeroConeT(len(right)), clarabel.NonnegativeConeT(len(bounds))]
    matrix, offsets = sp.vstack([equations, inequalities], format="csc"), np.r_[right, bounds]
    solutions = [
        clarabel.DefaultSolver(square, -item, matrix, offsets, cones, settings).solve().x for item in linear
    ]
    marginals = torch.from_numpy(np.array(solutions)[:, :quadratic])
    return marginals.reshape(main.shape).to(main.dtype)


@cache
def _flows(n: int, c: int) -> Rows:
    """Return the constraints of chains: on the nodes ``(n, c)``, then on the edges ``(n - 1, c, c)``."""
    nodes, edges = n * c, (n - 1) * c * c
    start = sp.csr_matrix((np.ones(c), (np.zeros(c, int), np.arange(c))), (1, nodes + edges))
    one, all_of = sp.identity(c), np.ones((1, c))
    leaving = sp.hstack([-sp.identity(nodes).tocsr()[: nodes - c], sp.kron(sp.identity((n - 1) * c), all_of)])
    entering = sp.hstack([-sp.identity(nodes).tocsr()[c:], sp.kron(sp.identity(n - 1), sp.kron(all_of, one))])
    equations = sp.vstack([start, leaving, entering], format="csc")
    right = np.r_[1.0, np.zeros(2 * (nodes - c))]
    return equations, right, -sp.identity(nodes + edges, format="csc"), np.zeros(nodes + edges)


@cache
def _doubly_stochastic(n: int) -> Rows:
    """Return the constraints of matrices ``(n, n)`` of which all rows and columns sum to 1."""
    one, all_of = sp.identity(n), np.ones((1, n))
    equations = sp.vstack([sp.kron(one, all_of), sp.kron(all_of, one)], format="csc")
    return equations, np.ones(2 * n), -sp.identity(n * n, format="csc"), np.zeros(n * n)


@cache
def _arborescences(n: int) -> Rows:
    """Return the constraints of arborescences: on parts ``[m, h]``, then on flows to each word along each arc."""
    parts = n * (n + 1)
    into = sp.kron(sp.identity(n), np.ones((1, n + 1)))
    out_of = sp.kron(np.ones((1, n)), sp.eye(n, n + 1, 1))
    roots, own = np.zeros((1, parts)), np.arange(n) * (n + 1) + np.arange(1, n + 1)
    roots[0, :: n + 1] = 1.0
    loops = sp.csr_matrix((np.ones(n), (np.arange(n), own)), (n, parts))
    heads = sp.hstack([sp.vstack([into, roots, loops]), sp.csr_matrix((2 * n + 1, n * parts))])
    balance = sp.hstack([sp.csr_matrix((n * n, parts)), sp.kron(sp.identity(n), into - out_of)])
    right = np.r_[np.ones(n + 1), np.zeros(n), np.identity(n).ravel()]
    within = sp.hstack([sp.kron(np.ones((n, 1)), -sp.identity(parts)), sp.identity(n * parts)])
    positive = -sp.identity((n + 1) * parts)
    inequalities = sp.vstack([within, positive], format="csc")
    return sp.vstack([heads, balance], format="csc"), right, inequalities, np.zeros(inequalities.shape[0])


@cache
def _grid(height: int, width: int) -> Rows:
    """Return the constraints of grids: on the variables ``(height, width)``, then on the edges of `grid_edges`."""
    first, second = (side.numpy() for side in grid_edges(height, width))
    variables, edges = height * width, len(first)
    left, right = (sp.identity(variables).tocsr()[side] for side in (first, second))
    both, none = sp.identity(edges), sp.csr_matrix((edges, variables))
    box = sp.hstack([sp.identity(variables), sp.csr_matrix((variables, edges))])
    inequalities = sp.vstack(
        [
            sp.hstack([-left, both]),
            sp.hstack([-right, both]),
            sp.hstack([left + right, -both]),
            sp.hstack([none, -both]),
            box,
            -box,
        ],
        format="csc",
    )
    bounds = np.r_[
        np.zeros(2 * edges), np.ones(edges), np.zeros(edges), np.ones(variables), np.zeros(variables)
    ]
    return sp.csc_matrix((0, variables + edges)), np.zeros(0), inequalities, bounds


def grid_edges(height: int, width: int) -> tuple[Tensor, Tensor]:
    """Return the indices of the two variables of each edge: edges along rows first, then those along columns."""
    places = torch.arange(height * width).reshape(height, width)
    first = torch.cat([places[:, :-1].flatten(), places[:-1].flatten()])
    return first, torch.cat([places[:, 1:].flatten(), places[1:].flatten()])
