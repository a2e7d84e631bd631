"""The forward recursion in probability space: each step divides the distribution of the state by its sum.

The log-evidence is the sum of the logs of these scales. To them only the ratios of the probabilities of a word in
the states matter: the maximum is taken out, and added to the log.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.hmm.lanes import Lanes
from strukt.kernels.hmm.steps import Steps


class Run(NamedTuple):
    """What the recursion leaves of a stretch of time.

    Attributes:
        scales: ``(tokens,)``; 1 where they were too small to divide by.
        logs: ``(tokens,)``, the log-probability of each word given those before it, in double precision.
        incoming: ``(tokens, r)``, the message that came in at each word, or None if it was not to be kept.
        message: ``(b, r)``, the message of the last words, for the sentences that have them.
        states: ``(b, z)``, the distributions of the state at the last words of sentences that end here, in order.
    """

    scales: Tensor
    logs: Tensor
    incoming: Tensor | None
    message: Tensor
    states: Tensor


def floor(dtype: torch.dtype) -> float:
    """Probabilities of a state below which they count as 0 in gradients, so that nothing overflows."""
    return torch.finfo(dtype).tiny * 1024


def smallest(dtype: torch.dtype) -> float:
    """Scales below which a sentence is computed in log space: here what counts as 0 is no longer negligible."""
    return floor(dtype) / torch.finfo(dtype).eps ** 2


def weights(words: Tensor, emission: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities of words in each state over their maxima ``(b, z)``, and the logs of the maxima ``(b,)``."""
    rows = emission.index_select(0, words)
    top = rows.amax(1)
    top = torch.where(top == -torch.inf, torch.zeros_like(top), top)
    return rows.sub_(top.unsqueeze(1)).exp_(), top


def run(
    lanes: Lanes,
    first: int,
    last: int,
    message: Tensor,
    emission: Tensor,
    steps: Steps,
    keep: bool,
) -> Run:
    """The recursion from one time to before another.

    Args:
        lanes: The words.
        first: Where it begins.
        last: Where it ends.
        message: What comes in: at time 0 the distributions of the first state, later the message before.
        emission: ``(v, z)``, log-probabilities.
        steps: The transition matrix.
        keep: Whether to keep the incoming messages of all words but the first ones.
    """
    start, stop = lanes.offsets[first], lanes.offsets[last]
    scales = message.new_empty(stop - start)
    logs = torch.empty_like(scales, dtype=torch.float64)
    begin = lanes.offsets[max(first, 1)]
    incoming = message.new_empty(max(stop - begin, 0), steps.width(emission.shape[1])) if keep else None
    states, limit = [], smallest(message.dtype)
    for time in range(first, last):
        rows, size = lanes.rows(time), lanes.sizes[time]
        if time and incoming is not None:
            incoming[rows.start - begin : rows.stop - begin] = message[:size]
        state = steps.advance(message[:size]) if time else message[:size].clone()
        word, top = weights(lanes.words[rows], emission)
        scale = state.mul_(word).sum(1)
        lost = scale < limit
        log = scale.double().log()
        logs[rows.start - start : rows.stop - start] = torch.where(lost, -torch.inf, log + top)
        scale = torch.where(lost, 1.0, scale)
        scales[rows.start - start : rows.stop - start] = scale
        state.div_(scale.unsqueeze(1))
        message = steps.message(state)
        ending = lanes.ending(time)
        if ending.start < ending.stop:
            states.append(state[ending])
    ended = torch.cat(states[::-1]) if states else message.new_empty(0, emission.shape[1])
    return Run(scales, logs, incoming, message, ended)
