"""The gradient of the log-evidence of an HMM: the backward recursion, and products over many positions at once.

The transition matrix is ``first @ last``. alpha_t is the distribution of the state given the words up to t,
gamma_t = alpha_t first the message to the next word, o_t the probability of word t in each state, c_t the scale by
which the states at t were divided, and beta_t the gradient with respect to alpha_t for constant scales. Vectors
alpha and gamma are rows; o, beta, q and eta are columns; o beta and alpha beta are products of entries. Then

    q_t = o_t beta_t / c_t,   eta_t = last q_t,   beta_t-1 = first eta_t,
    d last = sum of gamma_t-1' q_t',   d first = sum of alpha_t-1' eta_t',
    d emission[x_t] = sum of alpha_t beta_t.

States that were not stored are recomputed from their incoming messages, by one product for many positions at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.structures.hmm import band as bands
from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.scaled_forward import Emissions, floor
from strukt.structures.hmm.steps import Steps

CHUNK = 1 << 22
"""The largest number of entries of a table ``(tokens, z)`` that is computed at once."""


class Backward(NamedTuple):
    """The inputs of a backward pass, and the gradients that it accumulates.

    Attributes:
        lanes: The words of the batch.
        final: ``(batch, z)``, beta at the last word of each sentence, in the order of the lanes.
        emission: The emissions of the words.
        steps: The transition matrix.
        back: The transposed transition matrix, without the band.
        emission_gradient: ``(v, z)``; empty if not requested.
        steps_gradient: The gradients with respect to the matrices of ``steps``, in the same fields; None if not
            requested.
    """

    lanes: Lanes
    final: Tensor
    emission: Emissions
    steps: Steps
    back: Steps
    emission_gradient: Tensor
    steps_gradient: Steps


class Carried(NamedTuple):
    """The values passed from a time to the time before, for unfinished sentences: q ``(b, z)``, eta ``(b, r)``.

    If the transition matrix has no factors, eta is q.
    """

    q: Tensor
    eta: Tensor


def start(
    lanes: Lanes, final: Tensor, emission: Emissions, steps: Steps, requested: Sequence[bool]
) -> tuple[Backward, Carried]:
    """Return a backward pass before its first step, and the values carried into it.

    ``requested`` says whether the gradients of the emissions, of ``first``, ``last`` and ``blocks`` are needed.
    """
    needs_emission, *needs_steps = requested
    first, last, blocks = (
        torch.zeros_like(factor, dtype=final.dtype) if needed and factor is not None else None
        for factor, needed in zip((steps.first, steps.last, steps.blocks), needs_steps, strict=True)
    )
    gradient = torch.zeros_like(emission.table) if needs_emission else final.new_empty(0)
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
    """Run the backward recursion over the times ``last - 1`` down to ``first``; accumulate the gradients.

    Args:
        work: The backward pass.
        first: The first time, where the recursion ends. Time 0 needs a call of its own, because ``incoming`` is
            then the distribution of the first state.
        last: The time after the last time to process.
        incoming: ``(tokens, r)``, the incoming message of each word at these times.
        scales: ``(tokens,)``, the scale of each of these words.
        carried: The values at time ``last``.

    Returns:
        The values at time ``first``.
    """
    offsets = work.lanes.offsets
    for begin, end in reversed(_chunks(offsets, first, last, work.final.shape[1])):
        rows = slice(offsets[begin] - offsets[first], offsets[end] - offsets[first])
        carried = _chunk(work, begin, end, incoming[rows], scales[rows], carried)
    return carried


def _chunks(offsets: list[int], first: int, last: int, states: int) -> list[tuple[int, int]]:
    """Split the times from ``first`` to ``last - 1`` into stretches with at most `CHUNK` entries of states.

    Return pairs of the first time and the time after the last. A stretch has at least one time.
    """
    most, chunks, begin = max(CHUNK // states, 1), [], first
    for time in range(first, last):
        if time > begin and offsets[time + 1] - offsets[begin] > most:
            chunks.append((begin, time))
            begin = time
    return [*chunks, (begin, last)]


def _chunk(
    work: Backward, first: int, last: int, incoming: Tensor, scales: Tensor, carried: Carried
) -> Carried:
    """Do the work of `retrace` for one chunk of times, whose states are computed by one product."""
    offsets, steps = work.lanes.offsets, work.steps
    words = work.lanes.words[offsets[first] : offsets[last]]
    ahead = steps.advance(incoming) if first else incoming
    ratio = ratios(work.emission, words, scales, ahead)
    state = ahead * ratio
    q = ratio  # overwritten from the end: a word's weights are not needed once its q is known
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
    """Accumulate the gradients of all words but the first ones, once all messages in both directions are known.

    Args:
        work: The backward pass; its transition matrix has two factors and no band.
        incoming: ``(tokens, r)``, gamma.
        scales: ``(tokens,)``, the scale of each word.
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
    """Return the weights of words divided by their scales, ``(tokens, z)``.

    They are 0 in states of negligible probability ``ahead``, whose betas would overflow.
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
    """Accumulate the gradients of emissions and matrices at some words; ``incoming`` is None for first words."""
    if work.emission_gradient.numel():
        work.emission_gradient.index_add_(0, words, ahead.mul_(q))
    into = work.steps_gradient
    if into.first is not None:
        into.first.addmm_(state.mT, etas)
    if into.last is not None and incoming is not None:
        into.last.addmm_(work.steps.rank(incoming).mT, q)


def _before(work: Backward, time: int, carried: Carried) -> Tensor:
    """Return beta ``(b, z)`` at a time, from the values at the next time and from the sentences that end here."""
    ending = work.final[work.lanes.ending(time)]
    if not work.lanes.sizes[time + 1]:
        return ending
    nearby = None if work.steps.blocks is None else bands.times_transpose(carried.q, work.steps.blocks)
    if work.back.last is not None:
        result = work.back.advance(carried.eta)
        nearby = result if nearby is None else nearby.add_(result)
    assert nearby is not None
    return torch.cat([nearby, ending]) if len(ending) else nearby
