"""Filtering and smoothing of hidden Markov models: the distribution of each state, given the words.

Results are tables ``(batch, n, z)``. Autograd differentiates the loops over time: there is no fused backward pass.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.hmm import reference
from strukt.structures.hmm.scaled_forward import floor, smallest
from strukt.structures.hmm.steps import retreat, steps

Tensors = tuple[Tensor, ...]

def filtered(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the distributions of each state given the words up to and including its own, and given those before.

    Both are ``(batch, n, z)``, with zeros in the padding and where the words are impossible. The arguments are
    those of `strukt.structures.hmm.forward_backward.log_evidence`.
    """
    arguments = words, lengths, initial, emission, matrices, band
    states, ahead, underflowed = _filtered(*arguments)
    if bool(underflowed.any()):
        some = words[underflowed], lengths[underflowed], initial[underflowed]
        result = _filtered_in_logs(*some, emission, matrices, band)
        states, ahead = _replaced(states, underflowed, result[0]), _replaced(ahead, underflowed, result[1])
    return states, ahead


def smoothed(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> Tensor:
    """Return the distribution of each state given all words, ``(batch, n, z)``; zeros for impossible sentences."""
    states, ahead, underflowed = _filtered(words, lengths, initial, emission, matrices, band)
    moving = steps(matrices, band)
    back = moving.transposed()
    result: list[Tensor] = []
    for time in reversed(range(words.shape[1])):
        here = states[:, time]
        if result:
            # The posterior of the next state divided by its prediction: unlike beta, this does not overflow.
            possible = ahead[:, time + 1] > floor(here.dtype)
            ratio = torch.where(possible, result[-1] / torch.where(possible, ahead[:, time + 1], 1.0), 0.0)
            going_on = here * retreat(ratio, moving, back)
            here = torch.where((time + 1 < lengths).unsqueeze(1), going_on, here)
        result.append(here)
    table = torch.stack(result[::-1], 1) if result else states
    if bool(underflowed.any()):
        some = words[underflowed], lengths[underflowed], initial[underflowed]
        more = _smoothed_in_logs(*some, emission, matrices, band)
        table = _replaced(table, underflowed, more)
    return table


def _filtered(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Filter in probability space; also return a mask of the sentences in which a scale underflowed."""
    moving = steps(matrices, band)
    states: list[Tensor] = []
    aheads: list[Tensor] = []
    underflowed = torch.zeros_like(lengths, dtype=torch.bool)
    for time in range(words.shape[1]):
        within = time < lengths
        rows = emission[torch.where(within, words[:, time], 0)]
        top = rows.detach().amax(1, keepdim=True)
        rows = (rows - torch.where(top == -torch.inf, 0.0, top)).exp()
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


def _filtered_in_logs(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> tuple[Tensor, Tensor]:
    logs = reference.forward(words, lengths, initial, emission, matrices, band)
    factors = reference.log_factors(matrices, band)
    states = torch.stack([reference.relative(log).exp() for log in logs], 1)
    later = [reference.advance(reference.relative(log), factors, band is not None).exp() for log in logs[:-1]]
    ahead = torch.stack([initial.double(), *later], 1)
    return tuple(_padded(table, lengths, words.shape[1]).to(initial.dtype) for table in (states, ahead))  # type: ignore[return-value]


def _smoothed_in_logs(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> Tensor:
    logs = reference.forward(words, lengths, initial, emission, matrices, band)
    factors, emission = reference.log_factors(matrices, band), emission.double()
    following, result = torch.zeros_like(logs[-1]), []
    for time in reversed(range(len(logs))):
        result.append(reference.relative(logs[time] + following).exp())
        word = emission[torch.where(time < lengths, words[:, time], 0)]
        before = reference.retreat(following + word, factors, band is not None)
        following = torch.where((time < lengths).unsqueeze(1), before, following)
    return _padded(torch.stack(result[::-1], 1), lengths, words.shape[1]).to(initial.dtype)


def _padded(table: Tensor, lengths: Tensor, n: int) -> Tensor:
    """Return a table ``(batch, times, z)`` with zeros beyond the lengths, padded by zeros to ``(batch, n, z)``."""
    within = torch.arange(table.shape[1], device=table.device) < lengths[:, None]
    table = torch.where(within.unsqueeze(2), table, 0.0)
    return torch.nn.functional.pad(table, (0, 0, 0, n - table.shape[1]))


def _replaced(table: Tensor, underflowed: Tensor, replacement: Tensor) -> Tensor:
    return table.index_copy(0, underflowed.nonzero().squeeze(1), replacement)
