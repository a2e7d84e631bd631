"""The gradient of the log-evidence: the backward recursion, and the products over time that it leaves to the end.

With states alpha_t, messages gamma_t = alpha_t first, weights o_t and scales c_t of the words, and the ratios of
probabilities beta_t, which are the gradient in what alpha_t is before it is divided by its scale,

    q_t = o_t beta_t / c_t,   eta_t = last q_t,   beta_t-1 = first eta_t,
    d last = sum of gamma_t-1' q_t,   d first = sum of alpha_t-1' eta_t,   d emission[x_t] = sum of alpha_t beta_t.

Of the time that is not kept, states come back from their incoming messages by one product for many times at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.structures.hmm import band as bands
from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.scaled import Emissions, floor
from strukt.structures.hmm.steps import Steps

CHUNK = 1 << 22
"""Numbers in one of the tables ``(tokens, z)`` of times that are computed at once."""


class Backward(NamedTuple):
    """What a backward pass works with, and the gradients that it adds to.

    Attributes:
        lanes: The words.
        final: ``(batch, z)``, beta at the last word of each sentence, in order.
        emission: Of the words.
        steps: The transition matrix.
        back: Its transpose, without the band.
        emission_gradient: ``(v, z)``.
        steps_gradient: In the form of the steps.
    """

    lanes: Lanes
    final: Tensor
    emission: Emissions
    steps: Steps
    back: Steps
    emission_gradient: Tensor
    steps_gradient: Steps


class Carried(NamedTuple):
    """What passes from a time to the one before: q ``(b, z)`` and eta ``(b, r)`` of the sentences that go on."""

    q: Tensor
    eta: Tensor


def start(
    lanes: Lanes, final: Tensor, emission: Emissions, steps: Steps, wanted: Sequence[bool]
) -> tuple[Backward, Carried]:
    """A backward pass before its first step; ``wanted`` says which gradients: emission, first, last, blocks."""
    in_emission, *in_steps = wanted
    first, last, blocks = (
        torch.zeros_like(factor, dtype=final.dtype) if want and factor is not None else None
        for factor, want in zip((steps.first, steps.last, steps.blocks), in_steps, strict=True)
    )
    gradient = torch.zeros_like(emission.table) if in_emission else final.new_empty(0)
    none_yet = Carried(
        final[:0], final.new_empty(0, final.shape[1] if steps.first is None else steps.rank_size)
    )
    return Backward(
        lanes,
        final,
        emission,
        steps,
        steps.transposed().laid_out(len(final)),
        gradient,
        Steps(first, last, blocks),
    ), none_yet


def retrace(
    work: Backward, first: int, last: int, incoming: Tensor, scales: Tensor, carried: Carried
) -> Carried:
    """Go back from before one time to another, adding to the gradients.

    Args:
        work: The pass.
        first: Where it ends. Time 0 is alone: there ``incoming`` are the distributions of the first state.
        last: Where it begins.
        incoming: The incoming message of each word.
        scales: Of each word.
        carried: What came from the time after.
    """
    offsets = work.lanes.offsets
    for begin, end in reversed(_chunks(offsets, first, last, work.final.shape[1])):
        rows = slice(offsets[begin] - offsets[first], offsets[end] - offsets[first])
        carried = _chunk(work, begin, end, incoming[rows], scales[rows], carried)
    return carried


def _chunks(offsets: list[int], first: int, last: int, states: int) -> list[tuple[int, int]]:
    """Times cut so that the tables of each stretch are of bounded size."""
    most, chunks, begin = max(CHUNK // states, 1), [], first
    for time in range(first, last):
        if time > begin and offsets[time + 1] - offsets[begin] > most:
            chunks.append((begin, time))
            begin = time
    return [*chunks, (begin, last)]


def _chunk(
    work: Backward, first: int, last: int, incoming: Tensor, scales: Tensor, carried: Carried
) -> Carried:
    offsets, steps = work.lanes.offsets, work.steps
    words = work.lanes.words[offsets[first] : offsets[last]]
    ahead = steps.advance(incoming) if first else incoming
    ratio = ratios(work.emission, words, scales, ahead)
    state = ahead * ratio
    q = ratio  # written over it from the end: the weights of a word are not needed once its q is known
    following = state.new_zeros(state.shape if steps.blocks is not None else (0, 0))
    etas = state.new_zeros(len(state) if steps.first is not None else 0, carried.eta.shape[1])
    for time in reversed(range(first, last)):
        begin, end = (offset - offsets[first] for offset in offsets[time : time + 2])
        going_on = slice(begin, begin + work.lanes.sizes[time + 1])
        beta = _before(work, time, carried)
        if steps.first is not None:
            etas[going_on] = carried.eta
        if steps.blocks is not None:
            following[going_on] = carried.q
        here = q[begin:end].mul_(beta)
        carried = Carried(here, work.back.message(here))
    if work.steps_gradient.blocks is not None:
        groups = bands.groups_of(following, work.steps_gradient.blocks)
        work.steps_gradient.blocks.baddbmm_(bands.windows(state, work.steps_gradient.blocks).mT, groups)
    _add(work, words, incoming if first else None, ahead, state, q, etas)
    return carried


def sweep(work: Backward, incoming: Tensor, scales: Tensor, etas: Tensor) -> None:
    """Add to the gradients what all words but the first ones give, if all messages are known.

    Args:
        work: The pass, of two matrices without a band.
        incoming: ``(tokens, r)``, gamma.
        scales: ``(tokens,)``.
        etas: ``(tokens, r)``, eta of the next word; 0 for last words.
    """
    offsets, ends = work.lanes.offsets, work.lanes.ends
    for begin, end in _chunks(offsets, 1, work.lanes.duration, work.final.shape[1]):
        start, stop = offsets[begin], offsets[end]
        rows = slice(start - offsets[1], stop - offsets[1])
        words = work.lanes.words[start:stop]
        ahead = work.steps.advance(incoming[rows])
        ratio = ratios(work.emission, words, scales[rows], ahead)
        beta = work.back.advance(etas[rows])
        ending = (ends >= start) & (ends < stop)
        beta[ends[ending] - start] = work.final[: len(ends)][ending]
        _add(work, words, incoming[rows], ahead, ahead * ratio, beta.mul_(ratio), etas[rows])


def ratios(emission: Emissions, words: Tensor, scales: Tensor, ahead: Tensor) -> Tensor:
    """Weights of words over their scales, ``(tokens, z)``.

    They are 0 in states that are next to impossible, which have huge betas that overflow and mean nothing.
    """
    ratio = emission.weights(words).div_(scales.unsqueeze(1))
    return ratio.masked_fill_(ahead <= floor(ahead.dtype), 0.0)


def _add(
    work: Backward,
    words: Tensor,
    incoming: Tensor | None,
    ahead: Tensor,
    state: Tensor,
    q: Tensor,
    etas: Tensor,
) -> None:
    """Add to the gradients of emissions and matrices, from messages ``incoming`` unless the words are first."""
    if work.emission_gradient.numel():
        work.emission_gradient.index_add_(0, words, ahead.mul_(q))
    into = work.steps_gradient
    if into.first is not None:
        into.first.addmm_(state.mT, etas)
    if into.last is not None and incoming is not None:
        into.last.addmm_(work.steps.rank(incoming).mT, q)


def _before(work: Backward, time: int, carried: Carried) -> Tensor:
    """Beta at a time ``(b, z)``, from what came from the time after and from the sentences that end here."""
    ending = work.final[work.lanes.ending(time)]
    if not work.lanes.sizes[time + 1]:
        return ending
    nearby = None if work.steps.blocks is None else bands.times_transpose(carried.q, work.steps.blocks)
    if work.back.last is not None:
        found = work.back.advance(carried.eta)
        nearby = found if nearby is None else nearby.add_(found)
    assert nearby is not None
    return torch.cat([nearby, ending]) if len(ending) else nearby
