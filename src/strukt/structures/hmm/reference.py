"""Reference of hidden Markov models in log space: slow, differentiable any number of times, correct at -inf."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

from strukt.kernels.semiring import NEG_INF, log_softmax, logsumexp

Tensors = tuple[Tensor, ...]


class Chains(NamedTuple):
    """The sentences of a batch and the probabilities of their hidden Markov chains.

    Attributes:
        words: ``(batch, n)``, rows of the table of emissions; padding is ignored.
        lengths: ``(batch,)``.
        initial: ``(batch, z)``, the probabilities of the first state.
        emission: ``(u, z)``, the log-probability of each row in each state.
        matrices: The factors of the transition matrix: ``(z, z)``, or ``(z, r)`` and ``(r, z)``, or an empty
            tuple.
        band: ``(z, 2 w + 1)``, added to the product of the factors, or None; see `strukt.structures.hmm.band`.
    """

    words: Tensor
    lengths: Tensor
    initial: Tensor
    emission: Tensor
    matrices: Tensors
    band: Tensor | None

    def select(self, items: Tensor) -> Chains:
        """Return some sentences: those at indices, or where a mask ``(batch,)`` is True."""
        return Chains(self.words[items], self.lengths[items], self.initial[items], *self[3:])

    def log_factors(self) -> Tensors:
        """Return the logs of the matrices, and of the band, in float64."""
        band = () if self.band is None else (self.band,)
        return tuple(safe_log(factor.double()) for factor in (*self.matrices, *band))


def log_evidence(
    words: Tensor,
    lengths: Tensor,
    initial: Tensor,
    emission: Tensor,
    matrices: Tensors,
    band: Tensor | None,
    frugal: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each sentence ``(batch,)`` and its last state's distribution ``(batch, z)``.

    Both are in float64. The arguments are those of `strukt.structures.hmm.forward_backward.log_evidence`. For a
    derivative, all terms of all sums are stored, O(n z r) numbers for each sentence, or with ``frugal`` those of
    one step at a time.
    """
    logs = forward(Chains(words, lengths, initial, emission, matrices, band), frugal)
    if not logs:
        return lengths.new_zeros(len(lengths), dtype=torch.float64), torch.zeros_like(initial).double()
    total = logsumexp(logs[-1], 1)
    evidence = torch.where(lengths > 0, total, torch.zeros_like(total))
    last = torch.where((lengths > 0).unsqueeze(1), log_softmax(logs[-1], 1).exp(), 0.0)
    return evidence, last


def forward(chains: Chains, frugal: bool = False) -> list[Tensor]:
    """Return, for each time, the joint log-probability ``(batch, z)`` of the words so far and their last state.

    After the end of a sentence, its last values are repeated.
    """
    words, lengths, initial, emission, _, band = chains
    emission, factors = emission.double(), chains.log_factors()
    result: list[Tensor] = []
    for time in range(int(lengths.max()) if len(lengths) else 0):
        within = (time < lengths).unsqueeze(1)
        word = torch.where(within.squeeze(1), words[:, time], 0)
        state = advance(result[-1], factors, band is not None, frugal) if time else safe_log(initial.double())
        state = state + emission[word]
        result.append(torch.where(within, state, result[-1]) if time else state)
    return result


def advance(state: Tensor, factors: Tensors, banded: bool, frugal: bool = False) -> Tensor:
    """Return the log-weights ``(b, z)`` of the states after a step, from those before it, ``state (b, z)``.

    This is the log of ``exp(state) @ matrix``. The matrix is given by `Chains.log_factors`, of which the last is a
    band if ``banded``. With ``frugal``, the backward pass recomputes the terms of the sums.
    """
    if frugal and torch.is_grad_enabled():
        return checkpoint(_advance, state, factors, banded, use_reentrant=False)  # type: ignore[no-any-return]
    return _advance(state, factors, banded)


def retreat(following: Tensor, factors: Tensors, banded: bool) -> Tensor:
    """Return the log of ``exp(following) @ matrix.mT``, a backward step: ``(b, z)``, from ``following (b, z)``.

    The other arguments are those of `advance`.
    """
    matrices = factors[:-1] if banded else factors
    ahead = following
    for matrix in reversed(matrices):
        ahead = logsumexp(ahead.unsqueeze(1) + matrix, -1)
    if not banded:
        return ahead
    w = factors[-1].shape[1] // 2
    nearby = logsumexp(pad(following, (w, w), value=NEG_INF).unfold(1, 2 * w + 1, 1) + factors[-1], -1)
    return nearby if not matrices else logsumexp(torch.stack([ahead, nearby]), 0)


def safe_log(probabilities: Tensor) -> Tensor:
    """Return logs, with gradient 0 at 0."""
    some = probabilities > 0
    return torch.where(some, torch.where(some, probabilities, 1.0).log(), NEG_INF)


def _advance(state: Tensor, factors: Tensors, banded: bool) -> Tensor:
    """Return the result of `advance`; all terms of the sums are in memory."""
    matrices = factors[:-1] if banded else factors
    ahead = state
    for matrix in matrices:
        ahead = logsumexp(ahead.unsqueeze(2) + matrix, 1)
    if not banded:
        return ahead
    # Column j of `sources` is the state w - j before each state; it moves there by entry 2 w - j of its band row.
    band, w = factors[-1], factors[-1].shape[1] // 2
    sources = pad(state, (w, w), value=NEG_INF).unfold(1, 2 * w + 1, 1)
    reached = torch.arange(len(band), device=band.device).unsqueeze(1)
    offset = torch.arange(2 * w + 1, device=band.device)
    entries = pad(band, (0, 0, w, w), value=NEG_INF)[reached + offset, 2 * w - offset]
    nearby = logsumexp(sources + entries, -1)
    return nearby if not matrices else logsumexp(torch.stack([ahead, nearby]), 0)
