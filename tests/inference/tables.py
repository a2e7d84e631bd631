"""A factor given by a table of its assignments, and random graphs, for the tests of LP-SparseMAP."""

import numpy as np
import torch

from strukt.inference.lp_sparsemap.graph import BAND, OR_OUT, ORACLE, PAIR, Face, Layout


def layout(variables, *factors):
    """A layout of factors ``(kind, copies, options)``; negated copies are written ``~i``."""
    copies, negated, starts, kinds, costs, low, high, own, pairs = [], [], [0], [], [], [], [], [], 0
    for kind, members, *options in factors:
        members = np.asarray(members, dtype=int)
        copies += np.where(members < 0, ~members, members).tolist()
        negated += (members < 0).tolist()
        starts.append(len(copies))
        kinds.append(kind)
        least, most, weights = options if kind == BAND else (-np.inf, np.inf, np.ones(len(members)))
        low.append(least)
        high.append(most)
        costs += list(np.broadcast_to(weights, len(members)))
        own.append(pairs if kind == PAIR else -1)
        pairs += kind == PAIR
    return Layout(
        variables,
        np.array(copies, np.int64),
        np.array(negated, bool),
        np.array(starts, np.int64),
        np.array(kinds, np.int64),
        np.array(costs, np.float64),
        np.array(low, np.float64),
        np.array(high, np.float64),
        np.array(own, np.int64),
    )


def xor(*members):
    return BAND, members, 1.0, 1.0, 1.0


def at_most(bound, *members):
    return BAND, members, -np.inf, bound, 1.0


def at_least_one(*members):
    return BAND, members, 1.0, np.inf, 1.0


def knapsack(costs, bound, *members):
    return BAND, members, -np.inf, bound, np.asarray(costs, float)


def or_out(*members):
    return OR_OUT, members


def pair(first, second):
    return PAIR, (first, second)


def oracle(*members):
    return ORACLE, members


def grid(n):
    place = np.arange(n * n).reshape(n, n)
    across = [(place[i, j], place[i, j + 1]) for i in range(n) for j in range(n - 1)]
    down = [(place[i, j], place[i + 1, j]) for i in range(n - 1) for j in range(n)]
    return layout(n * n, *(pair(a, b) for a, b in across + down))


def matching(n):
    place = np.arange(n * n).reshape(n, n)
    return layout(n * n, *(xor(*row) for row in place), *(xor(*column) for column in place.T))


def random_layout(rng, variables, factors, kinds=(BAND, BAND, BAND, OR_OUT, PAIR, PAIR)):
    """Factors of random kinds over random variables, some of them negated."""
    parts = []
    for _ in range(factors):
        kind = rng.choice(kinds)
        size = 2 if kind == PAIR else rng.integers(1, min(variables, 6) + 1)
        members = rng.choice(variables, size, replace=False)
        members = np.where(rng.random(size) < 0.4, ~members, members)
        parts.append((kind, members, *(_band(rng, size) if kind == BAND else ())))
    return layout(variables, *parts)


def _band(rng, size):
    form = rng.integers(6)
    if form < 4:
        return [(1.0, 1.0), (-np.inf, 1.0), (1.0, np.inf), (-np.inf, float(rng.integers(1, size + 1)))][
            form
        ] + (1.0,)
    costs = rng.normal(size=size) if form == 4 else np.round(2.0 * rng.normal(size=size))
    high = costs[costs > 0].sum() * rng.random()
    return (-np.inf if form == 4 else high - rng.random()), high, costs


class Table:
    """A factor of listed assignments ``(k, size)`` with local scores ``(batch, k)``, solved by an active set."""

    def __init__(self, assignments, scores):
        self.assignments = torch.as_tensor(assignments, dtype=torch.float64)
        self.scores = scores
        self.calls = 0
        self.allowed = set()

    def project(self, scores, scale, start, calls):
        self.calls += 1
        self.allowed.add(calls)
        items = [
            nearest(self.assignments.numpy(), row.numpy(), own.detach().numpy() / float(by))
            for row, own, by in zip(scores, self.scores, scale, strict=True)
        ]
        weights = torch.from_numpy(np.stack(items))
        first = weights.argmax(1, keepdim=True)
        rows = torch.where(weights > 0, torch.arange(len(self.assignments)), first)  # only those of the face
        own = self.scores.detach().expand(len(scores), -1).gather(1, rows)
        return Face(weights @ self.assignments, weights, self.assignments[rows], own)

    def permits(self, vertices):
        return (vertices.unsqueeze(-2) == self.assignments).all(-1).any(-1)

    def local_scores(self, vertices):
        same = (vertices.unsqueeze(-2) == self.assignments).all(-1).double()
        return (same * self.scores).sum(-1)

    def best(self, scores):
        return self.assignments[(scores @ self.assignments.T + self.scores).argmax(1)]


def nearest(assignments, scores, own):
    """Weights ``(k,)`` of the point of the polytope with the largest ``<scores, p> + own - |p|^2 / 2``."""
    values = assignments @ scores + own
    used, weights = [int(values.argmax())], np.zeros(len(values))
    weights[used] = 1.0
    for _ in range(1000):
        used = _descend(assignments, values, used, weights)
        gain = values - assignments @ (weights @ assignments)
        best = int(gain.argmax())
        if gain[best] <= gain @ weights + 1e-13 * (1.0 + abs(values).max()) or best in used:
            return weights
        used.append(best)
    raise AssertionError("the active set does not end")


def _descend(assignments, values, used, weights):
    """The best weights of some assignments, from feasible ones; those that become 0 are dropped."""
    while True:
        rows = assignments[used]
        system = np.block(
            [[rows @ rows.T, np.ones((len(used), 1))], [np.ones((1, len(used))), np.zeros((1, 1))]]
        )
        target = np.append(values[used], 1.0)
        found = np.linalg.lstsq(system, target, rcond=1e-12)[0]
        left = target - system @ found
        bounded = np.abs(left).max() < 1e-9 * (1.0 + np.abs(target).max())
        change = found[:-1] - weights[used] if bounded else left[:-1]
        falling = change < -1e-15
        ratios = np.where(falling, weights[used] / np.where(falling, -change, 1.0), np.inf)
        length = min(1.0 if bounded else np.inf, ratios.min())
        weights[used] = weights[used] + length * change
        if bounded and length == 1.0:
            return used
        weights[used[int(ratios.argmin())]] = 0.0
        used = [k for k in used if weights[k] > 0.0]
