"""The scaled forward algorithm in probability space: each step divides the weights of the states by their sum.

The log-evidence is the sum of the logs of these sums, called scales. The probabilities of a word in the states are
divided by their maximum, whose log is added separately. A message is what a step passes to the next one; see
`strukt.structures.hmm.steps.Steps.message`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import finite
from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.steps import Steps

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class Run(NamedTuple):
    """The result of the recursion over a stretch of time.

    A message has r entries, one for each feature, if the steps are `Steps.compact`; otherwise it has z.

    Attributes:
        scales: ``(tokens,)``, the scale of each word; 1 where it underflowed.
        logs: ``(tokens,)``, the log-probability of each word given those before it, in double precision.
        incoming: ``(tokens, r)``, the incoming message of each word after time 0; None if they are not stored.
        message: ``(b, r)``, the message after the last time, for the sentences that have a word at that time.
        states: ``(b, z)``, the distribution of the last state of each sentence that ends in the stretch, in order.
    """

    scales: Tensor
    logs: Tensor
    incoming: Tensor | None
    message: Tensor
    states: Tensor


def floor(dtype: torch.dtype) -> float:
    """Return the probability below which a state counts as impossible in gradients, so that nothing overflows."""
    return torch.finfo(dtype).tiny * 1024


def smallest(dtype: torch.dtype) -> float:
    """Return the scale below which a sentence is computed in log space, because improbable states matter then."""
    return floor(dtype) / torch.finfo(dtype).eps ** 2


class Emissions(NamedTuple):
    """The probabilities of words in each state.

    Attributes:
        table: ``(v, z)``, the log-probability of each word in each state.
        tops: ``(v,)``, each word's largest log-probability over the states of all processes; 0 where all are -inf.
    """

    table: Tensor
    tops: Tensor

    def weights(self, words: Tensor) -> Tensor:
        """Return p(word | state) of words ``(b,)``, divided by the largest value over the states: ``(b, z)``."""
        return self.table.index_select(0, words).sub_(self.tops[words].unsqueeze(1)).exp_()


def emissions(table: Tensor, group: ProcessGroup | None = None) -> Emissions:
    """Return the table together with each word's largest entry over the states of all processes of a group."""
    tops = table.detach().amax(1)
    if group is not None:
        torch.distributed.all_reduce(tops, torch.distributed.ReduceOp.MAX, group)
    return Emissions(table, finite(tops))


def run(
    lanes: Lanes,
    first: int,
    last: int,
    message: Tensor,
    emission: Emissions,
    steps: Steps,
    keep: bool,
) -> Run:
    """Run the recursion over the times from ``first`` to ``last - 1``.

    Args:
        lanes: The words of the batch.
        first: The first time to process.
        last: The time after the last time to process.
        message: The incoming message: at time 0 the distributions of the first state, later the message of the
            stretch before.
        emission: The emissions of the words.
        steps: The transition matrix.
        keep: Whether to store the incoming messages of all words but those at time 0.
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
        underflowed = scale < limit
        log = scale.double().log() + emission.tops[words]
        logs[rows.start - start : rows.stop - start] = torch.where(underflowed, -torch.inf, log)
        scale = torch.where(underflowed, 1.0, scale)
        scales[rows.start - start : rows.stop - start] = scale
        state.div_(scale.unsqueeze(1))
        message = message.div_(scale.unsqueeze(1)) if steps.compact else state
        ending = lanes.ending(time)
        if ending.start < ending.stop:
            states.append(state[ending])
    ended = torch.cat(states[::-1]) if states else message.new_empty(0, emission.table.shape[1])
    return Run(scales, logs, incoming, message, ended)
