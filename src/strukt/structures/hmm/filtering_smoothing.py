"""Filtering and smoothing of hidden Markov models: the distribution of each state, given the words.

Results are tables ``(batch, n, z)``. Autograd differentiates the loops over time: there is no fused backward pass.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import finite, log_softmax
from strukt.structures.hmm import reference
from strukt.structures.hmm.reference import Chains
from strukt.structures.hmm.scaled_forward import floor, smallest
from strukt.structures.hmm.steps import retreat, steps


def filtered(chains: Chains) -> tuple[Tensor, Tensor]:
    """Return the distributions of each state given the words up to and including its own, and given those before.

    Both are ``(batch, n, z)``, with zeros in the padding and where the words are impossible.
    """
    states, ahead, underflowed = _filtered(chains)
    if bool(underflowed.any()):
        result = _filtered_in_logs(chains.select(underflowed))
        states, ahead = _replaced(states, underflowed, result[0]), _replaced(ahead, underflowed, result[1])
    return states, ahead


def smoothed(chains: Chains) -> Tensor:
    """Return the distribution of each state given all words, ``(batch, n, z)``; zeros for impossible sentences."""
    states, ahead, underflowed = _filtered(chains)
    moving = steps(chains.matrices, chains.band)
    back = moving.transposed()
    result: list[Tensor] = []
    for time in reversed(range(chains.words.shape[1])):
        here = states[:, time]
        if result:
            # The posterior of the next state divided by its prediction: unlike beta, this does not overflow.
            possible = ahead[:, time + 1] > floor(here.dtype)
            ratio = torch.where(possible, result[-1] / torch.where(possible, ahead[:, time + 1], 1.0), 0.0)
            going_on = here * retreat(ratio, moving, back)
            here = torch.where((time + 1 < chains.lengths).unsqueeze(1), going_on, here)
        result.append(here)
    table = torch.stack(result[::-1], 1) if result else states
    if bool(underflowed.any()):
        table = _replaced(table, underflowed, _smoothed_in_logs(chains.select(underflowed)))
    return table


def _filtered(chains: Chains) -> tuple[Tensor, Tensor, Tensor]:
    """Filter in probability space; also return a mask of the sentences in which a scale underflowed."""
    words, lengths, initial, emission, matrices, band = chains
    moving = steps(matrices, band)
    states: list[Tensor] = []
    aheads: list[Tensor] = []
    underflowed = torch.zeros_like(lengths, dtype=torch.bool)
    for time in range(words.shape[1]):
        within = time < lengths
        rows = emission[torch.where(within, words[:, time], 0)]
        top = rows.detach().amax(1, keepdim=True)
        rows = (rows - finite(top)).exp()
        ahead = moving.advance(moving.message(states[-1])) if time else initial
        joint = ahead * rows
        scale = joint.sum(1, keepdim=True)
        small = scale < smallest(scale.dtype)
        underflowed = underflowed | (small.squeeze(1) & within)
        usable = within.unsqueeze(1) & ~small
        states.append(torch.where(usable, joint / torch.where(small, 1.0, scale), 0.0))
        aheads.append(torch.where(within.unsqueeze(1), ahead, 0.0))
    if not states:
        empty = initial.new_zeros(len(words), 0, initial.shape[1])
        return empty, empty, underflowed
    return torch.stack(states, 1), torch.stack(aheads, 1), underflowed


def _filtered_in_logs(chains: Chains) -> tuple[Tensor, Tensor]:
    """Return the result of `filtered`, computed in log space."""
    logs, factors, banded = reference.forward(chains), chains.log_factors(), chains.band is not None
    relative = [log_softmax(log, 1) for log in logs]
    states = torch.stack(relative, 1).exp()
    later = [reference.advance(log, factors, banded).exp() for log in relative[:-1]]
    return _padded(states, chains), _padded(torch.stack([chains.initial.double(), *later], 1), chains)


def _smoothed_in_logs(chains: Chains) -> Tensor:
    """Return the result of `smoothed`, computed in log space."""
    words, lengths, logs, factors = chains.words, chains.lengths, reference.forward(chains), chains.log_factors()
    emission = chains.emission.double()
    following, result = torch.zeros_like(logs[-1]), []
    for time in reversed(range(len(logs))):
        result.append(log_softmax(logs[time] + following, 1).exp())
        word = emission[torch.where(time < lengths, words[:, time], 0)]
        before = reference.retreat(following + word, factors, chains.band is not None)
        following = torch.where((time < lengths).unsqueeze(1), before, following)
    return _padded(torch.stack(result[::-1], 1), chains)


def _padded(table: Tensor, chains: Chains) -> Tensor:
    """Return a table ``(batch, times, z)`` with zeros beyond the lengths, padded by zeros to ``(batch, n, z)``.

    The result has the type of the chains.
    """
    within = torch.arange(table.shape[1], device=table.device) < chains.lengths[:, None]
    table = torch.where(within.unsqueeze(2), table, 0.0).to(chains.initial.dtype)
    return torch.nn.functional.pad(table, (0, 0, 0, chains.words.shape[1] - table.shape[1]))


def _replaced(table: Tensor, underflowed: Tensor, replacement: Tensor) -> Tensor:
    """Return a table ``(batch, n, z)`` in which the sentences of a mask ``(batch,)`` are replaced."""
    return table.index_copy(0, underflowed.nonzero().squeeze(1), replacement)
