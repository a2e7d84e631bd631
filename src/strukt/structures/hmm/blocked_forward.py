"""The forward algorithm of HMMs in which each word belongs to one block of states (Chiu and Rush 2020).

The z states form b blocks of k states; only states of a word's block can emit it. So a step needs only the (k, k)
submatrix of the transition matrix from the block of a word to that of the next, or k rows of each of its factors.
"""

from __future__ import annotations

import abc
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.structures.hmm.backward import ratios
from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.scaled_forward import Emissions, smallest


class Blocks(NamedTuple):
    """The block of states to which each row of a table of emissions ``(u, k)`` belongs.

    Attributes:
        of_rows: ``(u,)``, the block of each row.
        number: The number of blocks, b.
    """

    of_rows: Tensor
    number: int

    def spread(self, emission: Tensor) -> Tensor:
        """Return the table ``(u, k)`` extended to all states, ``(u, z)``: -inf in other blocks."""
        result = emission.new_full((len(emission), self.number, emission.shape[1]), -torch.inf)
        places = torch.arange(len(emission), device=emission.device), self.of_rows
        return result.index_put(places, emission).flatten(1)


class Corners(abc.ABC):
    """The base class of a transition matrix cut into submatrices from block to block."""

    @abc.abstractmethod
    def advance(self, state: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """Return the distributions ``(n, k)`` after a step, from ``state (n, k)``, those before it.

        The step leads from the states of blocks ``before (n,)`` to those of blocks ``after (n,)``.
        """

    @abc.abstractmethod
    def retreat(self, q: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """Return ``q (n, k)`` times the transposed submatrices, ``(n, k)``: the adjoint of `advance`."""

    @abc.abstractmethod
    def zeros(self) -> Self:
        """Return an object of the same form filled with zeros, in which to accumulate gradients."""

    @abc.abstractmethod
    def add(self, into: Self, state: Tensor, q: Tensor, before: Tensor, after: Tensor) -> None:
        """Add to ``into`` the gradients of an inner product with respect to the matrices.

        The inner product is ``(advance(state, before, after) * q).sum()``, for ``q (n, k)``.
        """

    @abc.abstractmethod
    def joined(self) -> tuple[Tensor, ...]:
        """Return the matrices in the shapes from which `corners` cut them."""


class DenseCorners(Corners):
    """A dense transition matrix as its submatrices from block to block: ``(b, b, k, k)``."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def advance(self, state: Tensor, before: Tensor, after: Tensor) -> Tensor:
        return _rows_times(state, self.matrix[before, after])

    def retreat(self, q: Tensor, before: Tensor, after: Tensor) -> Tensor:
        return _rows_times(q, self.matrix[before, after].mT)

    def zeros(self) -> Self:
        return type(self)(torch.zeros_like(self.matrix))

    def add(self, into: Self, state: Tensor, q: Tensor, before: Tensor, after: Tensor) -> None:
        place = before * len(into.matrix) + after
        into.matrix.flatten(0, 1).index_add_(0, place, state.unsqueeze(2) * q.unsqueeze(1))

    def joined(self) -> tuple[Tensor, ...]:
        b, _, k, _ = self.matrix.shape
        return (self.matrix.transpose(1, 2).reshape(b * k, b * k),)


class LowRankCorners(Corners):
    """The factors of a low-rank transition matrix, ``(b, k, r)`` each.

    ``first`` has the rows of the states before a step, ``last`` those of the states after it.
    """

    def __init__(self, first: Tensor, last: Tensor) -> None:
        self.first, self.last = first, last

    def advance(self, state: Tensor, before: Tensor, after: Tensor) -> Tensor:
        return _rows_times(_rows_times(state, self.first[before]), self.last[after].mT)

    def retreat(self, q: Tensor, before: Tensor, after: Tensor) -> Tensor:
        return _rows_times(_rows_times(q, self.last[after]), self.first[before].mT)

    def zeros(self) -> Self:
        return type(self)(torch.zeros_like(self.first), torch.zeros_like(self.last))

    def add(self, into: Self, state: Tensor, q: Tensor, before: Tensor, after: Tensor) -> None:
        eta, gamma = _rows_times(q, self.last[after]), _rows_times(state, self.first[before])
        into.first.index_add_(0, before, state.unsqueeze(2) * eta.unsqueeze(1))
        into.last.index_add_(0, after, q.unsqueeze(2) * gamma.unsqueeze(1))

    def joined(self) -> tuple[Tensor, ...]:
        return self.first.flatten(0, 1), self.last.flatten(0, 1).mT


def corners(matrices: tuple[Tensor, ...], count: int, dtype: torch.dtype) -> Corners:
    """Cut a matrix ``(z, z)``, or the factors ``(z, r)`` and ``(r, z)``, into ``count`` blocks of states."""
    first, *rest = (matrix.to(dtype) for matrix in matrices)
    k = len(first) // count
    if not rest:
        return DenseCorners(first.view(count, k, count, k).transpose(1, 2).contiguous())
    return LowRankCorners(*(factor.reshape(count, k, -1) for factor in (first, rest[0].mT)))


def forward(
    words: Lanes, blocks: Blocks, initial: Tensor, emission: Emissions, steps: Corners
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return log-probabilities ``(batch,)``, distributions of the last states ``(batch, z)``, and stored tensors.

    The stored tensors, for `gradients`, are the scale of each word and the distribution of its state given the
    words before it.
    """
    last = torch.zeros_like(initial)
    if not words.duration:
        return initial.new_zeros(len(initial), dtype=torch.float64), last, []
    of_words = blocks.of_rows[words.words]
    scales, aheads, logs = [], [], []
    state, limit = initial, smallest(initial.dtype)
    for time in range(words.duration):
        size, rows = words.sizes[time], words.rows(time)
        here = of_words[rows]
        if time:
            ahead = steps.advance(state[:size], of_words[words.rows(time - 1)][:size], here)
        else:
            ahead = _block_states(initial[words.order], here, blocks)
        state = ahead * emission.weights(words.words[rows])
        scale = state.sum(1)
        underflowed = scale < limit
        log = scale.double().log() + emission.tops[words.words[rows]]
        logs.append(torch.where(underflowed, -torch.inf, log))
        scale = torch.where(underflowed, 1.0, scale)
        state = state / scale.unsqueeze(1)
        aheads.append(ahead)
        scales.append(scale)
        ending = words.ending(time)
        _block_view(last, blocks)[words.order[ending], here[ending]] = state[ending]
    return words.totals(torch.cat(logs)), last, [torch.cat(scales), torch.cat(aheads)]


def gradients(
    words: Lanes,
    blocks: Blocks,
    emission: Emissions,
    steps: Corners,
    kept: list[Tensor],
    final: Tensor,
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """Return the gradients with respect to initial distributions, emissions and matrices.

    ``kept`` are the tensors stored by `forward`, ``final (batch, z)`` is beta at the last words.
    """
    in_initial, in_emission, into = torch.zeros_like(final), torch.zeros_like(emission.table), steps.zeros()
    if not words.duration:
        return in_initial, in_emission, into.joined()
    scales, aheads = kept
    of_words, final = blocks.of_rows[words.words], final[words.order]
    ratio = ratios(emission, words.words, scales, aheads)
    state, q = aheads * ratio, final.new_empty(0, aheads.shape[1])
    for time in reversed(range(words.duration)):
        rows, going_on = words.rows(time), words.sizes[time + 1]
        here = of_words[rows]
        beta = _block_states(final[: len(here)], here, blocks)
        if going_on:
            between = here[:going_on], of_words[words.rows(time + 1)]
            steps.add(into, state[rows][:going_on], q, *between)
            beta = torch.cat([steps.retreat(q, *between), beta[going_on:]])
        q = beta * ratio[rows]
        in_emission.index_add_(0, words.words[rows], aheads[rows] * q)
    _block_view(in_initial, blocks)[words.order[: len(q)], of_words[: len(q)]] = q
    return in_initial, in_emission, into.joined()


def _block_view(states: Tensor, blocks: Blocks) -> Tensor:
    """Return numbers of all states ``(n, z)`` as a view by blocks, ``(n, b, k)``."""
    return states.view(len(states), blocks.number, -1)


def _block_states(states: Tensor, here: Tensor, blocks: Blocks) -> Tensor:
    """Return the numbers ``(m, k)`` of the states of blocks ``here (m,)``, from the first m rows of ``(n, z)``."""
    return _block_view(states[: len(here)], blocks)[torch.arange(len(here), device=here.device), here]


def _rows_times(rows: Tensor, matrices: Tensor) -> Tensor:
    """Multiply each row ``(n, i)`` by its matrix ``(n, i, j)``: ``(n, j)``."""
    return torch.bmm(rows.unsqueeze(1), matrices).squeeze(1)
