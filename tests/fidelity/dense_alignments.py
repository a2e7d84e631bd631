"""Decomposable attention and structured alignments, in loops over words, without the library."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import minimize
from tests.fidelity.dense_sparsemap import Array, sparsemap

HARDLY = 0.01
"""Shares are of at least so much weight."""

RELAXATION = 1.6
"""How far rounds go beyond the points of the factors (Boyd et al. 2011, section 3.4.3)."""


def both_shares(weights: Array) -> tuple[Array, Array]:
    """The shares of the columns in each row, and of the rows in each column."""
    rows, columns = np.zeros_like(weights), np.zeros_like(weights)
    for i, j in np.ndindex(*weights.shape):
        rows[i, j] = weights[i, j] / max(weights[i].sum(), HARDLY)
        columns[i, j] = weights[i, j] / max(weights[:, j].sum(), HARDLY)
    return rows, columns


def both_softmaxes(scores: Array) -> tuple[Array, Array]:
    """Each row chooses among the columns, and each column among the rows."""
    rows, columns = np.zeros_like(scores), np.zeros_like(scores)
    for i, j in np.ndindex(*scores.shape):
        rows[i, j] = np.exp(scores[i, j]) / np.exp(scores[i]).sum()
        columns[i, j] = np.exp(scores[i, j]) / np.exp(scores[:, j]).sum()
    return rows, columns


def matching(scores: Array) -> Array:
    """SparseMAP of one-to-one matchings, listed: each word of the shorter side has one of the other side."""
    n, m = scores.shape
    if n > m:
        return matching(scores.T).T
    every = np.stack([np.eye(m)[list(chosen)].ravel() for chosen in itertools.permutations(range(m), n)])
    found: Array = (sparsemap(every, scores.ravel()) @ every).reshape(n, m)
    return found


def sequence(scores: Array, bonus: float) -> Array:
    """The mean mu of listed chains of columns that takes no column twice.

    It maximises mu'scores - 1/2 |mu|^2 + E[bonus times the steps (i, j) - (i + 1, j +- 1)].
    """
    n, m = scores.shape
    if n > m:
        return sequence(scores.T, bonus).T
    chains = list(itertools.product(range(m), repeat=n))
    parts = np.stack([np.eye(m)[list(chain)].ravel() for chain in chains])
    earned = np.array([bonus * sum(abs(b - a) == 1 for a, b in itertools.pairwise(c)) for c in chains])
    taken = np.stack([np.tile(np.eye(m)[column], n) for column in range(m)]) @ parts.T

    def loss(q: Array) -> tuple[float, Array]:
        mu = q @ parts
        return mu @ mu / 2 - mu @ scores.ravel() - q @ earned, parts @ (mu - scores.ravel()) - earned

    found = minimize(
        loss, np.full(len(chains), 1 / len(chains)), jac=True, method="SLSQP", bounds=[(0, 1)] * len(chains),
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1, "jac": np.ones_like},
            {"type": "ineq", "fun": lambda q: 1 - taken @ q, "jac": lambda _: -taken},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    mean: Array = (found.x @ parts).reshape(n, m)
    return mean


def _on_simplex(values: Array, exactly: bool) -> Array:
    """The nearest point with a sum of 1, or of at most 1, without anything below 0."""
    inside = np.maximum(values, 0)
    if not exactly and inside.sum() <= 1:
        return inside
    for k in range(1, len(values) + 1):
        tau = (sum(sorted(values, reverse=True)[:k]) - 1) / k
        found = np.maximum(values - tau, 0)
        if np.isclose(found.sum(), 1, atol=1e-12):
            return found
    raise AssertionError("there is always a support")


def matching_after(rounds: int, scores: Array) -> Array:
    """Rounds of ADMM (Niculae and Martins 2020, algorithm 1): an XOR for each row, at most one for each column.

    Each XOR has one more variable, for rows beyond the length; here it is always 0.
    """
    n, m = scores.shape
    mu, step = np.full((n, m), 0.5), max(1.0, np.abs(scores).max() / 4)
    multipliers = np.stack([(scores - mu) / 2] * 2)
    beyond = np.zeros(n)  # the multipliers of these variables
    for _ in range(rounds - 1):  # in the last round the factors are solved, but nothing moves
        of_rows, of_columns = mu + multipliers / step
        chosen = np.stack(
            [_on_simplex(np.append(row, b / step), True) for row, b in zip(of_rows, beyond, strict=True)]
        )
        taken = np.stack([_on_simplex(column, False) for column in of_columns.T]).T
        beyond = beyond - step * RELAXATION * chosen[:, -1]
        points = RELAXATION * np.stack([chosen[:, :-1], taken]) + (1 - RELAXATION) * mu
        mu = (scores + (step * points - multipliers).sum(0)) / (1 + 2 * step)
        multipliers = multipliers + step * (mu - points)
    return np.clip(mu, 0, 1)


def network(weights: Mapping[str, Array], name: str, x: Array) -> Array:
    """Two layers with ReLU."""
    for layer in (1, 4):
        x = np.maximum(weights[f"{name}.{layer}.weight"] @ x + weights[f"{name}.{layer}.bias"], 0)
    return x


def class_scores(
    weights: Mapping[str, Array], premise: Array, hypothesis: Array, scaled: bool,
    aligned: Callable[[Array], tuple[Array, Array]],
) -> Array:  # fmt: skip
    """Equations 1 to 5 of Parikh et al. (2016); e may be divided by the root of the size."""
    a, b = ([weights["project.weight"] @ word for word in words] for words in (premise, hypothesis))
    e = np.zeros((len(a), len(b)))
    for i, j in np.ndindex(*e.shape):
        e[i, j] = network(weights, "attend", a[i]) @ network(weights, "attend", b[j])
    rows, columns = aligned(e / np.sqrt(len(a[0])) if scaled else e)
    first, second = np.zeros(len(a[0])), np.zeros(len(a[0]))
    for i in range(len(a)):
        beta = sum(rows[i, j] * b[j] for j in range(len(b)))
        first = first + network(weights, "compare", np.concatenate([a[i], beta]))
    for j in range(len(b)):
        alpha = sum(columns[i, j] * a[i] for i in range(len(a)))
        second = second + network(weights, "compare", np.concatenate([b[j], alpha]))
    found = network(weights, "aggregate", np.concatenate([first, second]))
    scores: Array = weights["score.weight"] @ found + weights["score.bias"]
    return scores
