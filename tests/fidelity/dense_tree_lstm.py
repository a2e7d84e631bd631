"""A latent dependency TreeLSTM, written from its equations: p(h | x) by SparseMAP, and the tree that is read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tests.fidelity.dense_sparsemap import Array, arcs_of, every_tree, sparsemap


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def arc_scores(weights: Mapping[str, Array], x: Array) -> Array:
    """eta ``(n, n + 1)``: a biaffine form of each word and each head, the root in front."""
    nodes = [weights["scorer.root"], *x]
    scores = np.zeros((len(x), len(nodes)))
    for m, word in enumerate(x):
        for h, head in enumerate(nodes):
            left = np.tanh(weights["scorer.dependent.weight"] @ word + weights["scorer.dependent.bias"])
            right = np.tanh(weights["scorer.head.weight"] @ head + weights["scorer.head.bias"])
            scores[m, h] = np.append(left, 1) @ weights["scorer.score.weight"][0] @ np.append(right, 1)
    return scores


def root_state(weights: Mapping[str, Array], x: Array, heads: tuple[int, ...]) -> Array:
    """g(x; h): the state of the root of a tree, by equations 2 to 8 of Tai et al. (2015)."""
    inputs, bias = weights["network.inputs.weight"], weights["network.inputs.bias"]
    w_f, w_i, w_o, w_u = np.split(inputs, 4)
    b_f, b_i, b_o, b_u = np.split(bias, 4)
    u_i, u_o, u_u = np.split(weights["network.gates.weight"], 3)
    u_f = weights["network.forget.weight"]

    def state(j: int) -> tuple[Array, Array]:
        vector = x[j - 1] if j else weights["network.root"]
        below = [state(k) for k, head in enumerate(heads, 1) if head == j]
        summed = sum((h for h, _ in below), np.zeros(len(u_f)))
        i = sigmoid(w_i @ vector + u_i @ summed + b_i)
        o = sigmoid(w_o @ vector + u_o @ summed + b_o)
        u = np.tanh(w_u @ vector + u_u @ summed + b_u)
        cell = i * u
        for h, c in below:
            cell = cell + sigmoid(w_f @ vector + u_f @ h + b_f) * c
        return o * np.tanh(cell), cell

    return state(0)[0]


def latent_trees(eta: Array) -> list[tuple[float, tuple[int, ...]]]:
    """The trees of positive probability, with that, by SparseMAP over all trees."""
    trees = every_tree(len(eta))
    p = sparsemap(np.stack([arcs_of(heads).ravel() for heads in trees]), eta.ravel())
    return [(float(weight), heads) for weight, heads in zip(p, trees, strict=True) if weight > 0]


def trees_on_face(eta: Array) -> Array:
    """A row of arcs for each tree that may have weight: those of the largest score eta - mu."""
    trees = np.stack([arcs_of(heads).ravel() for heads in every_tree(len(eta))])
    gains = trees @ (eta.ravel() - sparsemap(trees, eta.ravel()) @ trees)
    return trees[gains > gains.max() - 1e-7]


def class_probability(weights: Mapping[str, Array], x: Array, eta: Array, label: int) -> float:
    """p(y | x) = sum over h of p(y | h, x) p(h | x)."""
    total = 0.0
    for weight, heads in latent_trees(eta):
        scores = weights["score.weight"] @ root_state(weights, x, heads) + weights["score.bias"]
        total += weight * np.exp(scores[label]) / np.exp(scores).sum()
    return total


def expected_state(weights: Mapping[str, Array], x: Array, eta: Array) -> Array:
    """E_p g(x) = sum over h of g(x; h) p(h | x)."""
    parts = [weight * root_state(weights, x, heads) for weight, heads in latent_trees(eta)]
    return np.asarray(sum(parts))
