"""The forward algorithm of an HMM and its gradient for few states, as a compiled loop over sequences.

For few states and few sequences, calls of PyTorch cost more than the arithmetic. The notation is that of
`strukt.structures.hmm.backward`. For the gradient, the scale of each word and the distribution of its state given
the words before it are stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels import jit
from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.scaled_forward import Emissions, floor, smallest
from strukt.structures.hmm.steps import Steps

MOST = 1 << 17
"""The largest average number of multiplications in a step for which this is faster than matrix products."""


def pays(lanes: Lanes, steps: Steps, dtype: torch.dtype) -> bool:
    """Return True if steps are small, have one dense matrix in the type of the states, and run on a CPU."""
    matrix = steps.last
    if jit.UNAVAILABLE is not None or matrix is None or steps.first is not None or steps.blocks is not None:
        return False
    fitting = matrix.device.type == "cpu" and matrix.dtype == dtype and steps.group is None
    return fitting and lanes.offsets[-1] * matrix.numel() <= MOST * max(lanes.duration, 1)


def forward(
    words: Lanes, initial: Tensor, emission: Emissions, matrix: Tensor, keep: bool
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return log-probabilities ``(batch,)``, distributions of the last states ``(batch, z)``, and stored tensors.

    The stored tensors, for `gradients`, are the scale of each word, the distribution of its state given the words
    before it, and the weights of words in all states; there are none without ``keep``.
    """
    rows = words.offsets[-1] if keep else len(initial)
    scales, aheads = initial.new_empty(rows), initial.new_empty(rows, len(matrix))
    last, evidence = torch.zeros_like(initial), initial.new_zeros(len(initial), dtype=torch.float64)
    ordered, logs = torch.zeros_like(initial), torch.zeros_like(evidence)
    weights = (emission.table - emission.tops.unsqueeze(1)).exp_()
    read = (*_places(words), weights, emission.tops, initial[words.order], matrix)
    limit = smallest(initial.dtype)
    _over_lanes(_forward, words, matrix, *read, scales, aheads, ordered, logs, limit, keep)
    last[words.order], evidence[words.order] = ordered, logs
    return evidence, last, [scales, aheads, weights] if keep else []


def gradients(
    words: Lanes, matrix: Tensor, kept: list[Tensor], final: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients with respect to initial distributions, emissions and the matrix.

    ``kept`` are the tensors stored by `forward`, ``final (batch, z)`` is beta at the last words.
    """
    scales, aheads, weights = kept
    ordered, used = torch.zeros_like(final), torch.empty_like(aheads)
    sums = torch.zeros(_threads(words, matrix), *matrix.shape, dtype=torch.float64)
    read = (*_places(words), weights, matrix, scales, aheads, final[words.order])
    _over_lanes(_backward, words, matrix, *read, ordered, used, sums, floor(final.dtype))
    in_initial = torch.zeros_like(final)
    in_initial[words.order] = ordered
    in_emission = torch.zeros_like(weights).index_add_(0, words.words, used)
    return in_initial, in_emission, sums.sum(0).to(matrix.dtype)


def _places(words: Lanes) -> tuple[Tensor, Tensor]:
    """Return the words ``(tokens,)`` and the offsets of the times ``(n + 1,)`` as tensors."""
    return words.words, torch.tensor(words.offsets)


def _threads(words: Lanes, matrix: Tensor) -> int:
    """Return the number of threads for one pass over the sentences."""
    return jit.thread_count(len(words.order), words.offsets[-1] * matrix.numel())


def _over_lanes(kernel: Any, words: Lanes, matrix: Tensor, *arguments: Any) -> None:
    """Run a kernel over all sentences, on several threads if that pays; tensors are passed as arrays."""
    arrays = (part.detach().contiguous().numpy() if isinstance(part, Tensor) else part for part in arguments)
    jit.over_batch(kernel, _threads(words, matrix), *arrays)


@jit.kernel
def _forward(
    words: Any,
    offsets: Any,
    weights: Any,
    tops: Any,
    initial: Any,
    matrix: Any,
    scales: Any,
    aheads: Any,
    last: Any,
    evidence: Any,
    limit: float,
    keep: bool,
    start: int,
    step: int,
) -> None:
    """Write the distributions of the last states, ``last (b, z)``, and the log-probabilities, ``evidence (b,)``.

    Both are zeros before. Sentences are in the order of the lanes. Inputs are ``words (tokens,)`` and ``offsets
    (n + 1,)`` as in `Lanes`; ``weights (v, z)``, the probabilities of words in each state divided by exp of
    ``tops (v,)``; ``initial (b, z)`` and ``matrix (z, z)``. A scale below ``limit`` makes the result -inf.

    With ``keep``, the scale of each word is written to ``scales (tokens,)``, and the distribution of its state
    given the words before it to ``aheads (tokens, z)``. Otherwise both are workspace, with one row per sentence.
    """
    z = len(matrix)
    for lane in range(start, len(initial), step):
        state, total = last[lane], 0.0
        for time in range(len(offsets) - 1):
            place = offsets[time] + lane
            if place >= offsets[time + 1]:
                break
            kept = place if keep else lane
            ahead, weight = aheads[kept], weights[words[place]]
            if time == 0:
                for j in range(z):
                    ahead[j] = initial[lane, j]
            else:
                for j in range(z):
                    ahead[j] = 0.0
                for i in range(z):
                    share, row = state[i], matrix[i]
                    for j in range(z):
                        ahead[j] += share * row[j]
            scale = matrix.dtype.type(0.0)
            for j in range(z):
                state[j] = ahead[j] * weight[j]
                scale += state[j]
            if scale < limit:
                total = -np.inf
                scale = matrix.dtype.type(1.0)
            else:
                total += np.log(np.float64(scale)) + tops[words[place]]
            for j in range(z):
                state[j] /= scale
            scales[kept] = scale
        evidence[lane] = total


@jit.kernel
def _backward(
    words: Any,
    offsets: Any,
    weights: Any,
    matrix: Any,
    scales: Any,
    aheads: Any,
    final: Any,
    in_initial: Any,
    used: Any,
    sums: Any,
    least: float,
    start: int,
    step: int,
) -> None:
    """Write the gradients with respect to initial distributions and emissions; add that of the matrix to ``sums``.

    Results: ``in_initial (b, z)``, zeros before; ``used (tokens, z)``, for the log-probability of each word in
    each state; and ``sums (threads, z, z)``, one matrix for each thread. ``final (b, z)`` is beta at the last
    words; the other arrays are those of `_forward`. States of probability ``least`` or less are left out.
    """
    z = len(matrix)
    into = sums[start]
    beta, ratio = np.empty_like(matrix[0]), np.empty_like(matrix[0])
    for lane in range(start, len(final), step):
        end = 0
        while end < len(offsets) - 1 and offsets[end] + lane < offsets[end + 1]:
            end += 1
        q = in_initial[lane]
        for time in range(end - 1, -1, -1):
            place = offsets[time] + lane
            ahead, weight = aheads[place], weights[words[place]]
            for j in range(z):  # states of negligible probability have huge, meaningless betas
                ratio[j] = weight[j] / scales[place] if ahead[j] > least else 0.0
            if time == end - 1:
                for j in range(z):
                    beta[j] = final[lane, j]
            else:
                for i in range(z):
                    state, row, sum_row = ahead[i] * ratio[i], matrix[i], into[i]
                    total = matrix.dtype.type(0.0)
                    for j in range(z):
                        total += row[j] * q[j]
                        sum_row[j] += state * q[j]
                    beta[i] = total
            for j in range(z):
                q[j] = beta[j] * ratio[j]
                used[place, j] = ahead[j] * q[j]
