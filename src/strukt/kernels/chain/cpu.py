"""Fused Numba kernels of the linear chain: forward, backward, best sequence, samples.

All arithmetic is in double precision. Items run in scaled probability space (shift by the maximum, multiply,
renormalise, add the logs) as long as no weight that matters can underflow: every weight and every forward
probability that is not exactly zero must be at least `TINY`, so that the product of any three is a normal
number. An item that breaks this runs again in log space. Both are exact; the first takes no exponentials in
its inner loops.

The chart holds the normalised forward probabilities (or logs) of each position, and in its last column the
normaliser of the step in probability space, or -1 for items in log space.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.chain import cpu_log
from strukt.kernels.chain.cpu_log import Array
from strukt.kernels.jit import exp, kernel, over_batch, thread_count, zeros

TINY = 1e-100
"""Weights in probability space are zero or at least this, relative to the largest of their step."""

LOG_SPACE = -1.0


def new_chart(unary: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """An uninitialised chart ``(batch, n, c + 1)``."""
    batch, n, c = unary.shape
    return unary.new_empty((batch, n, c + 1), dtype=torch.float64)


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n c^2) an item, items in parallel."""
    chart = new_chart(unary, transition, lengths)
    log_partition = unary.new_zeros(len(unary), dtype=torch.float64)
    _run(_forward, *_arrays(unary, transition, lengths), chart.numpy(), log_partition.numpy())
    return log_partition.to(unary.dtype), chart


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Expected tags ``(batch, n, c)`` and transitions, each item times its weight, in the shapes of the scores."""
    batch, n, c = unary.shape
    groups, steps = transition.shape[:2]
    tags, pairs = zeros(unary), zeros(transition)
    if not tags.numel():
        return tags, pairs
    arrays = (*_arrays(unary, transition, lengths), weights.numpy(), chart.numpy(), tags.numpy())
    log_space = bool((chart[:, 0, -1] == LOG_SPACE).any())
    if log_space or (steps == n - 1 and groups < batch):
        each = np.zeros((batch, *transition.shape[1:]))
        _run(cpu_log.backward, *arrays, each)
        if steps == n - 1:
            _run(_backward_per_step, *arrays, each)
        pairs += torch.from_numpy(each.reshape(groups, -1, *transition.shape[1:]).sum(1)).to(pairs.dtype)
    elif steps == n - 1:
        _run(_backward_per_step, *arrays, pairs.numpy())
    if steps != n - 1:
        slots = thread_count(batch, batch * n * c * c) if groups < batch else 1
        expected = np.zeros((slots, groups, c, c))
        _run(_backward_shared, *arrays, expected)
        _times_weights(arrays[1], expected, pairs.numpy())
    return tags, pairs


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The best tags ``(batch, n)`` and their score (Viterbi 1967); time O(n c^2)."""
    tags = torch.full(unary.shape[:2], -1, dtype=torch.int64)
    score = unary.new_zeros(len(unary), dtype=torch.float64)
    _run(cpu_log.viterbi, *_arrays(unary, transition, lengths), tags.numpy(), score.numpy())
    return tags, score.to(unary.dtype)


def sample(unary: Tensor, transition: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Tags ``(batch, count, n)`` by forward filtering and backward sampling, O(n c) each; the log-partition."""
    log_partition, chart = inside(unary, transition, lengths)
    batch, n, _ = unary.shape
    uniform = torch.rand(batch, count, n, dtype=torch.float64)
    tags = torch.full((batch, count, n), -1, dtype=torch.int64)
    _run(cpu_log.draw, *_arrays(unary, transition, lengths), chart.numpy(), uniform.numpy(), tags.numpy())
    return tags, log_partition


def _arrays(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Array, Array, Array]:
    tensors = (unary, transition, lengths)
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)  # type: ignore[return-value]


def _run(function: Callable[..., None], unary: Array, *arrays: Array) -> None:
    batch, n, c = unary.shape
    if batch and n and c:
        over_batch(function, thread_count(batch, batch * n * c * c), unary, *arrays)


@kernel
def _weights(scores: Array, out: Array) -> tuple[float, bool]:
    """exp(scores - top) into ``out``; gives top and whether every finite weight is at least TINY."""
    rows, columns = scores.shape
    top = -np.inf
    for i in range(rows):
        for j in range(columns):
            top = max(top, np.float64(scores[i, j]))
    if top == -np.inf:
        out[:, :] = 0.0
        return 0.0, True
    lost = 0
    for i in range(rows):
        for j in range(columns):
            shifted = np.float64(scores[i, j]) - top
            weight = exp(shifted)
            out[i, j] = weight
            lost += int((weight < TINY) & (shifted > -np.inf))
    return top, lost == 0


@kernel
def _multiply(alpha: Array, matrix: Array, out: Array) -> None:
    """Out = alpha @ matrix, four rows at a time to save loads and stores of ``out``."""
    c = out.shape[0]
    for j in range(c):
        out[j] = 0.0
    i = 0
    while i + 3 < c:
        a, b, d, e = alpha[i], alpha[i + 1], alpha[i + 2], alpha[i + 3]
        for j in range(c):
            out[j] += a * matrix[i, j] + b * matrix[i + 1, j] + d * matrix[i + 2, j] + e * matrix[i + 3, j]
        i += 4
    while i < c:
        a = alpha[i]
        for j in range(c):
            out[j] += a * matrix[i, j]
        i += 1


@kernel
def _forward_item(
    unary: Array, transition: Array, length: int, matrix: Array, row: Array, chart: Array
) -> float:
    """Log-partition of one item in probability space, or NaN if a weight could underflow."""
    c = unary.shape[1]
    steps = transition.shape[0]
    entered = np.empty(c)
    top = 0.0
    total = 0.0
    for t in range(length):
        unary_top, safe = _weights(unary[t : t + 1], row)
        if t > 0 and (t == 1 or steps > 1):
            top, safe_matrix = _weights(transition[t - 1], matrix)
            safe = safe and safe_matrix
        if not safe:
            return np.nan
        if t == 0:
            for j in range(c):
                entered[j] = row[0, j]
        else:
            _multiply(chart[t - 1], matrix, entered)
            for j in range(c):
                entered[j] *= row[0, j]
            total += top
        mass = 0.0
        for j in range(c):
            mass += entered[j]
        if mass == 0.0:
            return -np.inf
        lost = 0
        for j in range(c):
            probability = entered[j] / mass
            lost += (probability < TINY) & (probability > 0.0)
            chart[t, j] = probability
        if lost > 0:
            return np.nan
        chart[t, c] = mass
        total += unary_top + np.log(mass)
    return total


@kernel
def _forward(
    unary: Array, transition: Array, lengths: Array, chart: Array, log_partition: Array, start: int, step: int
) -> None:
    batch, _, c = unary.shape
    matrix = np.empty((c, c))
    row = np.empty((1, c))
    for b in range(start, batch, step):
        shared = transition[b * transition.shape[0] // batch]
        total = _forward_item(unary[b], shared, lengths[b], matrix, row, chart[b])
        if np.isnan(total):
            chart[b, 0, c] = LOG_SPACE
            total = cpu_log.forward_item(unary[b], shared, lengths[b], chart[b])
        log_partition[b] = total
        if total == -np.inf:
            chart[b, 0, c] = 0.0


@kernel
def _beta_step(transposed: Array, row: Array, mass: float, right: Array, beta: Array) -> None:
    """From beta at t + 1 to beta at t; ``right`` keeps weight times beta over the normaliser at t + 1."""
    for j in range(beta.shape[0]):
        right[j] = row[0, j] * beta[j] / mass
    _multiply(right, transposed, beta)


@kernel
def _add_products(left: Array, right: Array, weight: float, out: Array) -> None:
    """Out += weight * left.T @ right, in blocks that stay in the first-level cache."""
    n, c = right.shape
    for block in range(0, c, 8):
        for t in range(0, n - 3, 4):
            for i in range(block, min(block + 8, c)):
                w, x = weight * left[t, i], weight * left[t + 1, i]
                y, z = weight * left[t + 2, i], weight * left[t + 3, i]
                for j in range(c):
                    out[i, j] += (
                        w * right[t, j] + x * right[t + 1, j] + y * right[t + 2, j] + z * right[t + 3, j]
                    )
        for t in range(n - n % 4, n):
            for i in range(block, min(block + 8, c)):
                w = weight * left[t, i]
                for j in range(c):
                    out[i, j] += w * right[t, j]


@kernel
def _backward_shared(
    unary: Array, transition: Array, lengths: Array, weights: Array, chart: Array, tags: Array, expected: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Tag marginals, and expected transitions over the weight matrix, in one slot for each thread."""
    batch, n, c = unary.shape
    groups = transition.shape[0]
    matrix = np.empty((c, c))
    transposed = np.empty((c, c))
    row = np.empty((1, c))
    beta = np.empty(c)
    right = np.empty((n, c))
    loaded = -1
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0 or chart[b, 0, c] <= 0.0:
            continue
        group = b * groups // batch
        if group != loaded:
            _weights(transition[group, 0], matrix)
            transposed[:, :] = matrix.T
            loaded = group
        beta[:] = 1.0
        for t in range(length - 1, -1, -1):
            if t < length - 1:
                _weights(unary[b, t + 1 : t + 2], row)
                _beta_step(transposed, row, chart[b, t + 1, c], right[t], beta)
            for i in range(c):
                tags[b, t, i] = weights[b] * chart[b, t, i] * beta[i]
        slot = start % expected.shape[0]
        _add_products(chart[b, : length - 1], right[: length - 1], weights[b], expected[slot, group])


@kernel
def _times_weights(transition: Array, expected: Array, pairs: Array) -> None:
    """Sum the slots of the threads and multiply by the weight matrix."""
    slots, groups, c, _ = expected.shape
    matrix = np.empty((c, c))
    for group in range(groups):
        _weights(transition[group, 0], matrix)
        for i in range(c):
            for j in range(c):
                total = 0.0
                for slot in range(slots):
                    total += expected[slot, group, i, j]
                pairs[group, 0, i, j] += total * matrix[i, j]


@kernel
def _backward_per_step(
    unary: Array, transition: Array, lengths: Array, weights: Array, chart: Array, tags: Array, pairs: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Tag marginals and the marginal of every transition at every step."""
    batch, _, c = unary.shape
    matrix = np.empty((c, c))
    transposed = np.empty((c, c))
    row = np.empty((1, c))
    beta = np.empty(c)
    right = np.empty(c)
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0 or chart[b, 0, c] <= 0.0:
            continue
        beta[:] = 1.0
        for t in range(length - 1, -1, -1):
            if t < length - 1:
                _weights(transition[b * transition.shape[0] // batch, t], matrix)
                _weights(unary[b, t + 1 : t + 2], row)
                transposed[:, :] = matrix.T
                _beta_step(transposed, row, chart[b, t + 1, c], right, beta)
                for i in range(c):
                    alpha = weights[b] * chart[b, t, i]
                    for j in range(c):
                        pairs[b, t, i, j] = alpha * matrix[i, j] * right[j]
            for i in range(c):
                tags[b, t, i] = weights[b] * chart[b, t, i] * beta[i]
