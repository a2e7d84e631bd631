"""The forward recursion in probability space: each step divides the distribution of the state by its sum.

The log-evidence is the sum of the logs of these scales. To them only the ratios of the probabilities of a word in
the states matter: the maximum is taken out, and added to the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.steps import Steps

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


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


class Emissions(NamedTuple):
    """How probable words are in each state.

    Attributes:
        table: ``(v, z)``, log-probabilities.
        tops: ``(v,)``, the largest ones of each word, of the states of all processes; 0 where all are -inf.
    """

    table: Tensor
    tops: Tensor

    def weights(self, words: Tensor) -> Tensor:
        """Probabilities of words in each state over their maxima, ``(b, z)``."""
        return self.table.index_select(0, words).sub_(self.tops[words].unsqueeze(1)).exp_()


def emissions(table: Tensor, group: ProcessGroup | None = None) -> Emissions:
    """The table with the maximum of each word, over all processes of a group."""
    tops = table.detach().amax(1)
    if group is not None:
        torch.distributed.all_reduce(tops, torch.distributed.ReduceOp.MAX, group)
    return Emissions(table, torch.where(tops == -torch.inf, 0.0, tops))


def run(
    lanes: Lanes,
    first: int,
    last: int,
    message: Tensor,
    emission: Emissions,
    steps: Steps,
    keep: bool,
) -> Run:
    """The recursion from one time to before another.

    Args:
        lanes: The words.
        first: Where it begins.
        last: Where it ends.
        message: What comes in: at time 0 the distributions of the first state, later the message before.
        emission: Of the words.
        steps: The transition matrix.
        keep: Whether to keep the incoming messages of all words but the first ones.
    """
    start, stop = lanes.offsets[first], lanes.offsets[last]
    scales = message.new_empty(stop - start)
    logs = torch.empty_like(scales, dtype=torch.float64)
    begin = lanes.offsets[max(first, 1)]
    incoming = message.new_empty(max(stop - begin, 0), steps.width(message.shape[1])) if keep else None
    states, limit = [], smallest(message.dtype)
    for time in range(first, last):
        rows, size = lanes.rows(time), lanes.sizes[time]
        if time and incoming is not None:
            incoming[rows.start - begin : rows.stop - begin] = message[:size]
        state = steps.advance(message[:size]) if time else message[:size].clone()
        words = lanes.words[rows]
        state.mul_(emission.weights(words))
        message = steps.message(state)
        scale = steps.total(state, message)
        lost = scale < limit
        log = scale.double().log() + emission.tops[words]
        logs[rows.start - start : rows.stop - start] = torch.where(lost, -torch.inf, log)
        scale = torch.where(lost, 1.0, scale)
        scales[rows.start - start : rows.stop - start] = scale
        state.div_(scale.unsqueeze(1))
        message = message.div_(scale.unsqueeze(1)) if steps.compact else state
        ending = lanes.ending(time)
        if ending.start < ending.stop:
            states.append(state[ending])
    ended = torch.cat(states[::-1]) if states else message.new_empty(0, emission.table.shape[1])
    return Run(scales, logs, incoming, message, ended)
