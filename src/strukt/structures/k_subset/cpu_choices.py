"""Growth and change of subsets, for entropies and second derivatives: a subset as a sequence of binary choices.

A subset is a sequence of choices: first its size, then for each item, from the last to the first, whether it is
taken. The conditional probabilities of choices (shares) come from the rows of ``cpu_coins``. A direction assigns a
move to the score of each choice. The growth is the expected sum of moves, and the change of the probabilities
follows from it. An entropy is the growth along minus the logs of the shares: a sum of non-negative terms, so
nothing cancels.

Entry ``[t - 1, c + 1]`` of a table is for item t if c of the first t items are taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp, log, log1p
from strukt.kernels.jit import inner
from strukt.structures.k_subset.cpu_coins import (
    anchor,
    fill_rows,
    find_tilt,
    first_count,
    gains,
    last_count,
    toss,
)

TINY = 1e-290
"""The value below which a share counts as 0: a surprise of more than 667 nats is computed in log space."""


class Choices(NamedTuple):
    """The share of each choice, or the move of its score along a direction.

    Attributes:
        taken: ``(n, most + 3)``, for taking each item.
        left: ``(n, most + 3)``, for leaving each item out.
        sizes: ``(most + 3,)``, for size c in column c + 1.
    """

    taken: Array
    left: Array
    sizes: Array


class Workspace(NamedTuple):
    """Workspace for one item of the batch.

    Attributes:
        gain: ``(n,)``, the score gained by taking each item.
        coins: ``(2, n)``, the probabilities of leaving out and of taking each item.
        rows: ``(n + 1, most + 3)``, the rows of `cpu_coins.fill_rows`.
        grown: ``(2, most + 3)``, the growth of the first t items for each count c, in row t % 2 and column c + 1.
        lean: ``(n, most + 3)``, the change of the share of taking each item.
        mass: ``(2, most + 3)``, the probability of each count of the first t items, likewise.
        changes: ``(2, most + 3)``, the change of ``mass``.
        more: ``(2, most + 3)``, the contributions to ``mass`` and ``changes`` if an item is taken.
    """

    gain: Array
    coins: Array
    rows: Array
    grown: Array
    lean: Array
    mass: Array
    changes: Array
    more: Array


@inner
def make_choices(n: int, most: int) -> Choices:
    """Allocate choices for n items and sizes up to ``most``, not initialised."""
    return Choices(np.empty((n, most + 3)), np.empty((n, most + 3)), np.empty(most + 3))


@inner
def make_workspace(n: int, most: int) -> Workspace:
    """Allocate the workspace for n items and sizes up to ``most``, not initialised."""
    width = most + 3
    return Workspace(
        np.empty(n),
        np.empty((2, n)),
        np.empty((n + 1, width)),
        np.empty((2, width)),
        np.empty((n, width)),
        np.empty((2, width)),
        np.empty((2, width)),
        np.empty((2, width)),
    )


@inner
def choose(
    scores: Array, omitted: Array, b: int, n: int, bounds: Array, workspace: Workspace, shares: Choices
) -> bool:
    """Write the ``shares`` of choices, 0 for impossible choices; return True if there is a subset.

    The other arguments are those of `gains`, which tightens ``bounds``. Without a subset, no shares are written.
    """
    if not gains(scores, omitted, b, n, bounds, workspace.gain):
        return False
    tilt = find_tilt(workspace.gain, n, bounds)
    toss(scores, omitted, b, n, bounds, tilt, workspace.gain, workspace.coins)
    rows, width = workspace.rows, workspace.rows.shape[1]
    fill_rows(workspace.coins, n, bounds, rows)
    for t in range(1, n + 1):
        first, last = first_count(t, n, bounds), last_count(t, bounds)
        shares.taken[t - 1, : first + 1] = 0.0
        shares.left[t - 1, : first + 1] = 0.0
        shares.taken[t - 1, last + 2 : width] = 0.0
        shares.left[t - 1, last + 2 : width] = 0.0
        without, with_it = workspace.coins[0, t - 1], workspace.coins[1, t - 1]
        for c in range(first, last + 1):
            rate = 1.0 / rows[t, c + 1] if rows[t, c + 1] > TINY else 0.0
            taken, left = rate * with_it * rows[t - 1, c], rate * without * rows[t - 1, c + 1]
            shares.taken[t - 1, c + 1] = taken if taken > TINY else 0.0
            shares.left[t - 1, c + 1] = left if left > TINY else 0.0
    shares.sizes[:] = 0.0
    total = 0.0
    for c in range(bounds[0], bounds[1] + 1):
        weight = rows[n, c + 1] * exp(tilt * (c - anchor(tilt, bounds)))
        shares.sizes[c + 1] = weight
        total += weight
    for c in range(bounds[0], bounds[1] + 1):
        share = shares.sizes[c + 1] / total
        shares.sizes[c + 1] = share if share > TINY else 0.0
    return True


@inner
def surprises(shares: Choices, n: int, bounds: Array, moves: Choices) -> None:
    """Write minus the logs of shares to ``moves``, for counts within ``bounds (2,)``; inf for shares of 0.

    That of a share of more than 1/2 is computed from the other shares, to keep its digits if it is nearly 1.
    """
    for t in range(1, n + 1):
        for c in range(first_count(t, n, bounds), last_count(t, bounds) + 1):
            taken, left = shares.taken[t - 1, c + 1], shares.left[t - 1, c + 1]
            small = min(taken, left)
            likely, unlikely = -log1p(-small), -log(max(small, TINY))
            unlikely = unlikely if small > 0.0 else np.inf
            moves.taken[t - 1, c + 1] = likely if taken > left else unlikely
            moves.left[t - 1, c + 1] = likely if left > taken else unlikely
    rest = 0.0
    for share in shares.sizes:  # of all sizes, since the bounds of the shares may be wider than these
        rest += share if share <= 0.5 else 0.0
    for c in range(bounds[0], bounds[1] + 1):
        share = shares.sizes[c + 1]
        moves.sizes[c + 1] = -log1p(-rest) if share > 0.5 else (-log(share) if share > 0.0 else np.inf)


@inner
def directions(taken: Array, left: Array, n: int, bounds: Array, moves: Choices) -> None:
    """Write the moves of all choices along a direction of the scores of taking and of leaving out each item.

    The direction is ``taken (n,)`` and ``left (n,)``.
    """
    for t in range(1, n + 1):
        for c in range(first_count(t, n, bounds), last_count(t, bounds) + 1):
            moves.taken[t - 1, c + 1] = taken[t - 1]
            moves.left[t - 1, c + 1] = left[t - 1]
    moves.sizes[:] = 0.0


@inner
def grow(shares: Choices, moves: Choices, n: int, bounds: Array, workspace: Workspace) -> float:
    """Return the expected sum of the ``moves`` of choices, and store what `change` needs; shares of 0 add 0."""
    workspace.grown[0, :3] = 0.0
    for t in range(1, n + 1):
        source, target = workspace.grown[(t - 1) % 2], workspace.grown[t % 2]
        for c in range(first_count(t, n, bounds), last_count(t, bounds) + 1):
            taken, left = shares.taken[t - 1, c + 1], shares.left[t - 1, c + 1]
            one = moves.taken[t - 1, c + 1] + source[c] if taken > 0.0 else 0.0
            none = moves.left[t - 1, c + 1] + source[c + 1] if left > 0.0 else 0.0
            target[c + 1] = taken * one + left * none
            workspace.lean[t - 1, c + 1] = taken * left * (one - none)
    growth, top = 0.0, workspace.grown[n % 2]
    for c in range(bounds[0], bounds[1] + 1):
        share = shares.sizes[c + 1]
        top[c + 1] = top[c + 1] + moves.sizes[c + 1] if share > 0.0 else 0.0
        growth += share * top[c + 1]
    return growth


@inner
def change(
    shares: Choices, growth: float, n: int, bounds: Array, workspace: Workspace, weight: float, taken: Array,
    left: Array,
) -> None:  # fmt: skip
    """Write the changes of the probabilities of taking and of leaving out each item, times ``weight``.

    The results are ``taken (n,)`` and ``left (n,)``. `grow` must be called before; ``growth`` is its result.
    """
    source, target = n % 2, (n - 1) % 2
    for c in range(bounds[0], bounds[1] + 1):
        share = shares.sizes[c + 1]
        workspace.mass[source, c + 1] = share
        workspace.changes[source, c + 1] = share * (workspace.grown[source, c + 1] - growth)
    for t in range(n, 0, -1):
        first, last = first_count(t, n, bounds), last_count(t, bounds)
        with_it, without = 0.0, 0.0
        for c in range(first + 1, last + 2):
            mass, moving = workspace.mass[source, c], workspace.changes[source, c]
            one, none = shares.taken[t - 1, c], shares.left[t - 1, c]
            lean = mass * workspace.lean[t - 1, c] if mass > 0.0 else 0.0
            more, less = one * moving + lean, none * moving - lean
            with_it += more
            without += less
            workspace.more[0, c], workspace.more[1, c] = mass * one, more
            workspace.mass[target, c], workspace.changes[target, c] = mass * none, less
        workspace.mass[target, first], workspace.changes[target, first] = 0.0, 0.0
        for c in range(first + 1, last + 2):
            workspace.mass[target, c - 1] += workspace.more[0, c]
            workspace.changes[target, c - 1] += workspace.more[1, c]
        taken[t - 1], left[t - 1] = weight * with_it, weight * without
        source, target = target, source
