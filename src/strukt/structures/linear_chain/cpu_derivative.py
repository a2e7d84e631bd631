"""The derivative of the marginals of the linear chain, by forward mode through both passes.

The forward pass computes the growth of each forward sum: the derivative of its log along a direction of the
scores. The backward pass computes the resulting change of the marginals. Both need only the probability of each
tag given the tag after it. The table program takes 3 times as long.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, scratch
from strukt.structures.linear_chain.cpu_weights import weigh


@kernel
def derivative(
    unary: Array, transition: Array, lengths: Array, weights: Array, tag_direction: Array, pair_direction: Array,
    chart: Array, tag_grads: Array, pair_grads: Array, weights_grad: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the gradients of <`cpu.outside`, directions> to arrays of zeros.

    Arrays: ``unary``, ``tag_direction`` and ``tag_grads (batch, n, c)``; ``transition`` and ``pair_direction
    (g, steps, c, c)``; ``pair_grads (batch, steps, c, c)``, not yet summed over the items of a group; ``chart
    (batch, n, c + 1)``; ``lengths``, ``weights`` and ``weights_grad (batch,)``.
    """
    batch, n, c = unary.shape
    groups, steps = transition.shape[:2]
    growth, mean = scratch(n, c), scratch(n, c)
    matrices, before = np.empty((steps, c, c)), np.empty((c, c))
    mass, change = scratch(2, c), scratch(2, c)
    for b in range(start, batch, step):
        length, group = lengths[b], b * groups // batch
        if length == 0 or not chart[b, 0, c] > 0.0:  # no sequence, or the item underflowed
            continue
        for s in range(min(length - 1, steps)):
            weigh(transition[group, s], matrices[s])
        mean[0] = 0.0
        for t in range(length):
            if t > 0:
                s = min(t, steps) - 1
                _tags_before(chart[b, t - 1, :c], matrices[s], before)
                _mean_growth(before, growth[t - 1], pair_direction[group, s], mean[t])
            for j in range(c):
                growth[t, j] = mean[t, j] + tag_direction[b, t, j] if chart[b, t, j] > 0.0 else 0.0
        now = 0
        weights_grad[b] = _end(chart[b, length - 1, :c], growth[length - 1], mass[now], change[now])
        for t in range(length - 1, -1, -1):
            for j in range(c):
                tag_grads[b, t, j] = weights[b] * change[now, j]
            if t > 0:
                s = min(t, steps) - 1
                _tags_before(chart[b, t - 1, :c], matrices[s], before)
                _step_back(
                    before, growth[t - 1], pair_direction[group, s], mean[t], mass[now], change[now], weights[b],
                    pair_grads[b, s], mass[1 - now], change[1 - now],
                )  # fmt: skip
                now = 1 - now


@inner
def _tags_before(alpha: Array, matrix: Array, out: Array) -> None:
    """Write ``out[i, j]``, the probability of tag i given that tag j follows it; 0 if no sequence leads to j.

    Args:
        alpha: ``(c,)``, the forward probability of each tag i.
        matrix: ``(c, c)``, the weights of the step from i to j.
        out: ``(c, c)``.
    """
    c = alpha.shape[0]
    for i in range(c):
        for j in range(c):
            out[i, j] = alpha[i] * matrix[i, j]
    total = scratch(1, c)[0]
    total[:] = 0.0
    for i in range(c):
        for j in range(c):
            total[j] += out[i, j]
    for j in range(c):
        total[j] = 1.0 / total[j] if total[j] > 0.0 else 0.0
    for i in range(c):
        for j in range(c):
            out[i, j] *= total[j]


@inner
def _mean_growth(before: Array, growth: Array, direction: Array, out: Array) -> None:
    """Write the growth of each tag's forward sum before the tag's score enters: the mean over the tags before it.

    ``before`` and ``direction``, that of the transition scores, are ``(c, c)``; ``growth``, of the tags before,
    and ``out`` are ``(c,)``.
    """
    out[:] = 0.0
    for i in range(before.shape[0]):
        for j in range(before.shape[0]):
            # Where a step is impossible, the direction may hold any value, even NaN.
            rise = growth[i] + direction[i, j] if before[i, j] > 0.0 else 0.0
            out[j] += before[i, j] * rise


@inner
def _end(alpha: Array, growth: Array, mass: Array, change: Array) -> float:
    """Write the marginals of the last position, ``mass (c,)``, and their ``change (c,)``.

    Return the change of the log-partition.
    """
    c = alpha.shape[0]
    total, slope = 0.0, 0.0
    for j in range(c):
        total += alpha[j]
    for j in range(c):
        mass[j] = alpha[j] / total
        slope += mass[j] * growth[j]
    for j in range(c):
        change[j] = mass[j] * (growth[j] - slope)
    return slope


@inner
def _step_back(
    before: Array, growth: Array, direction: Array, mean: Array, mass: Array, change: Array, weight: float,
    pairs: Array, mass_before: Array, change_before: Array,
) -> None:  # fmt: skip
    """Add the changes of the transition marginals, times ``weight``, to ``pairs``; move one position back.

    ``mass_before`` and ``change_before`` get the marginals of the tags one position earlier, and their changes.
    """
    c = mass.shape[0]
    for i in range(c):
        mass_here = change_here = 0.0
        for j in range(c):
            rise = growth[i] + direction[i, j] - mean[j] if before[i, j] > 0.0 else 0.0
            result = before[i, j] * (change[j] + mass[j] * rise)
            pairs[i, j] += weight * result
            change_here += result
            mass_here += before[i, j] * mass[j]
        mass_before[i], change_before[i] = mass_here, change_here
