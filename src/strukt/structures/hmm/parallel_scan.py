"""Parallel scan of an HMM over chunks of time, for long texts and transitions of small rank.

With transition factors first (z, r) and last (r, z), a word x with weights o_x = p(x | z) becomes a matrix M_x of
size (r, r),

    M_x = last diag(o_x) first,   m_x = last o_x,
    c_t = gamma_t-1 m_x,   gamma_t = gamma_t-1 M_x / c_t,   eta_t = M_x eta_t+1 / c_t   for x = x_t,

with the messages gamma (a row) and eta (a column) of `strukt.structures.hmm.backward`. So the z states are needed
once for each word of the vocabulary, not for each word of the text. Time is cut into about sqrt(n) chunks. The
products of the matrices of each chunk, then the messages into each chunk, then the messages inside the chunks take
3 sqrt(n) steps in all. Each row of a product is scaled separately, so that none underflows.

For a log-probability with its gradient, the recursion over time takes 5 times as long (one text of 1,000 words,
128 states, rank 16), and 2.7 times for eight such texts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from strukt.kernels.semiring import finite
from strukt.structures.hmm.backward import ratios
from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.scaled_forward import Emissions, Run, floor, smallest
from strukt.structures.hmm.steps import Steps

STEP = 3e6
"""The cost of a step of a Python loop, as a number of multiplications."""

SKINNY = 4.0
"""The factor by which a multiplication takes longer in a product of few rows with a large matrix."""


MOST_NUMBERS = 1 << 28
"""The largest number of entries that matrices and messages may have together."""


class Matrices(NamedTuple):
    """The words of a text as matrices in the space of features.

    Attributes:
        words: ``(n, b)``, the index of the matrix of each word; the longest sentence first; u in the padding.
        steps: ``(u + 1, r, r)``, M_x of each word, and finally the identity.
        totals: ``(u + 1, r)``, m_x of each word, and finally ones.
    """

    words: Tensor
    steps: Tensor
    totals: Tensor


def pays(lanes: Lanes, words: int, steps: Steps) -> bool:
    """Return True if the recursion over chunks is possible and estimated to be faster.

    It is possible for a transition that is a product of two matrices, without a band or a group of processes. The
    rows of the first matrix must sum to 1, so every state must have a successor. The matrices of all words and all
    messages must fit into memory.
    """
    if not steps.compact or steps.group is not None or steps.first is None or lanes.duration < 3:
        return False
    if steps.first.dtype not in (torch.float32, torch.float64):
        return False
    n, tokens, (states, rank) = lanes.duration, lanes.offsets[-1], steps.first.shape
    if words * rank**2 + n * lanes.sizes[0] * rank > MOST_NUMBERS:
        return False
    one_by_one = n * STEP + 2.0 * SKINNY * tokens * states * rank
    at_once = 3 * math.isqrt(n) * STEP + words * states * rank**2 + n * lanes.sizes[0] * rank**3
    return at_once < one_by_one and bool((steps.first.sum(1) > 0.5).all())


def matrices(lanes: Lanes, emission: Emissions, steps: Steps) -> Matrices:
    """Return the matrices M_x and vectors m_x of the u words of the table of emissions; time O(u z r^2)."""
    first, last = _factors(steps)
    u, rank = len(emission.table), first.shape[1]
    words = torch.full((lanes.duration, lanes.sizes[0]), u, device=first.device)
    words[lanes.within] = lanes.words
    result = torch.eye(rank, dtype=first.dtype, device=first.device).repeat(u + 1, 1, 1)
    totals = torch.ones_like(result[:, 0])
    for word in range(u):
        reached = last * emission.weights(words.new_tensor([word]))
        totals[word] = reached.sum(1)
        torch.mm(reached, first, out=result[word])
    return Matrices(words, result, totals)


def run(lanes: Lanes, begin: Run, emission: Emissions, steps: Steps) -> Run:
    """Run the recursion over all words but the first, whose result is ``begin``; see `scaled_forward.run`."""
    words = matrices(lanes, emission, steps)
    messages = _forward(words, begin.message)
    incoming, rows = messages[:-1][lanes.within[1:]], lanes.words[lanes.offsets[1] :]
    scales = (incoming * words.totals[rows]).sum(1)
    underflowed = scales < smallest(scales.dtype)
    logs = torch.where(underflowed, -torch.inf, scales.double().log() + emission.tops[rows])
    scales = torch.where(underflowed, 1.0, scales)
    ends = lanes.ends - lanes.offsets[1]
    ratio = emission.weights(rows[ends]).div_(scales[ends].unsqueeze(1))
    return Run(scales, logs, incoming, messages[-1], steps.advance(incoming[ends]).mul_(ratio))


def messages_back(
    lanes: Lanes, final: Tensor, incoming: Tensor, scales: Tensor, emission: Emissions, steps: Steps
) -> Tensor:
    """Return the message eta to each word from the next word, ``(tokens, r)``; 0 for last words.

    Args:
        lanes: The words of the batch.
        final: ``(b, z)``, beta at the last words of the sentences with two or more words.
        incoming: ``(tokens, r)``, the incoming messages gamma of all words but the first ones.
        scales: ``(tokens,)``, the scales of these words.
        emission: The emissions of the words.
        steps: The transition matrix.
    """
    words = matrices(lanes, emission, steps)
    within, ends = lanes.within, lanes.ends - lanes.offsets[1]
    rows = lanes.words[lanes.offsets[1] :][ends]
    ratio = ratios(emission, rows, scales[ends], steps.advance(incoming[ends]))
    eta = steps.transposed().message(ratio.mul_(final))
    going_on = torch.cat([within[1:], torch.zeros_like(within[:1])])
    divisors = torch.ones_like(words.words, dtype=scales.dtype)
    divisors[1:][within[1:]] = scales
    divisors = torch.where(going_on, divisors, 1.0)
    places = torch.where(going_on, words.words, len(words.steps) - 1)
    start = eta.new_zeros(within.shape[1], eta.shape[1])
    start[: len(eta)] = eta
    etas = _backward(Matrices(places[1:], words.steps, words.totals), divisors[1:], start)
    following = torch.where(going_on[:-1].unsqueeze(2), etas, 0.0)
    return torch.cat([following, torch.zeros_like(start).unsqueeze(0)])[within]


def _forward(words: Matrices, start: Tensor) -> Tensor:
    """Return the incoming messages of all words but the first, and the message after the last: ``(n, b, r)``.

    ``start (b, r)`` is the incoming message of the second words.
    """
    chunks = _chunked(words.words[1:], len(words.steps) - 1)
    products, logs = _products(words.steps, chunks)
    message, entering = start, []
    for product, log in zip(products, logs, strict=True):
        entering.append(message)
        weights = message.double().log() + log
        top = weights.amax(1, keepdim=True)
        weights = (weights - finite(top)).exp().to(message.dtype)
        message = _normalised((weights.unsqueeze(1) @ product).squeeze(1))[0]
    message, result = torch.stack(entering), []
    for word in chunks.unbind(1):
        result.append(message)
        scale = (message * words.totals[word]).sum(-1, keepdim=True)
        moved = (message.unsqueeze(-2) @ words.steps[word]).squeeze(-2)
        message = moved / torch.where(scale > 0, scale, 1.0)
    inside = torch.stack(result, 1).flatten(0, 1)[: len(words.words) - 1]
    return torch.cat([inside, message[-1:]])


def _backward(words: Matrices, divisors: Tensor, end: Tensor) -> Tensor:
    """Return the message eta from each of these words to the word before it, ``(n, b, r)``.

    ``divisors (n, b)`` are the scales of the words, and ``end (b, r)`` is the message to the last of them.
    """
    chunks = _chunked(words.words, len(words.steps) - 1)
    scales = pad(divisors, (0, 0, 0, chunks.shape[0] * chunks.shape[1] - len(divisors)), value=1.0)
    scales = scales.view(chunks.shape)
    products, logs = _products(words.steps, chunks)
    largest = 0.01 / floor(end.dtype)  # features above this bound have negligible probability
    logs = (logs - scales.double().log().sum(1).unsqueeze(-1)).clamp(max=math.log(largest))
    message, entering = end, []
    for product, log in zip(products.flip(0), logs.flip(0), strict=True):
        entering.append(message)
        ahead = (product @ message.unsqueeze(-1)).squeeze(-1)
        message = (ahead * log.exp().to(ahead.dtype)).clamp(-largest, largest)
    message, result = torch.stack(entering[::-1]), []
    for word, scale in zip(chunks.flip(1).unbind(1), scales.flip(1).unbind(1), strict=True):
        message = (words.steps[word] @ message.unsqueeze(-1)).squeeze(-1) / scale.unsqueeze(-1)
        message = message.clamp(-largest, largest)
        result.append(message)
    return torch.stack(result[::-1], 1).flatten(0, 1)[: len(words.words)]


def _products(steps: Tensor, chunks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scaled product of the matrices of each chunk, ``(k, b, r, r)``, and the logs of its scales.

    Each row is divided by its sum after each matrix; its scale is the product of these sums, ``(k, b, r)``.
    """
    product, sums = _normalised(steps[chunks[:, 0]])
    logs = sums.double().log()
    for word in chunks.unbind(1)[1:]:
        product, sums = _normalised(product @ steps[word])
        logs += sums.double().log()
    return product, logs


def _normalised(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows divided by their sums, and the sums; rows of zeros stay."""
    sums = rows.sum(-1)
    return rows / torch.where(sums > 0, sums, 1.0).unsqueeze(-1), sums


def _chunked(words: Tensor, nothing: int) -> Tensor:
    """Return words ``(n, b)`` in k chunks of l = sqrt(n) times, ``(k, l, b)``, padded with ``nothing``."""
    n, b = words.shape
    size = max(math.isqrt(n), 1)
    count = -(-n // size)
    return pad(words, (0, 0, 0, count * size - n), value=nothing).view(count, size, b)


def _factors(steps: Steps) -> tuple[Tensor, Tensor]:
    """Return both factors of the transition matrix, which must have two: ``(z, r)`` and ``(r, z)``."""
    assert steps.first is not None
    assert steps.last is not None
    return steps.first, steps.last
