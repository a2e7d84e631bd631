"""Filtering, smoothing, posterior samples and Viterbi paths of hidden Markov models.

Results are tables ``(batch, n, z)``; derivatives are those of plain loops.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.hmm import band as bands
from strukt.structures.hmm import reference
from strukt.structures.hmm.scaled_forward import floor, smallest
from strukt.structures.hmm.steps import Steps, steps

Tensors = tuple[Tensor, ...]

BLOCK = 1 << 22
"""The number of entries of the largest table in a step of Viterbi's algorithm."""


def filtered(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return distributions of each state given the words up to it, and before it: ``(batch, n, z)`` each.

    Takes the arguments of `strukt.structures.hmm.forward_backward.log_evidence`. Zeros in the padding, and where
    the words given are impossible.
    """
    given = words, lengths, initial, emission, matrices, band
    states, ahead, underflowed = _filtered(*given)
    if bool(underflowed.any()):
        some = words[underflowed], lengths[underflowed], initial[underflowed]
        result = _filtered_in_logs(*some, emission, matrices, band)
        states, ahead = _replaced(states, underflowed, result[0]), _replaced(ahead, underflowed, result[1])
    return states, ahead


def smoothed(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> Tensor:
    """Return distributions of each state given all words, ``(batch, n, z)``; zeros for impossible sentences."""
    states, ahead, underflowed = _filtered(words, lengths, initial, emission, matrices, band)
    moving = steps(matrices, band)
    back = moving.transposed()
    result: list[Tensor] = []
    for time in reversed(range(words.shape[1])):
        here = states[:, time]
        if result:
            # The next posterior of a state over its prediction: unlike beta, this ratio does not overflow.
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


def sampled(
    words: Tensor,
    lengths: Tensor,
    initial: Tensor,
    emission: Tensor,
    matrices: Tensors,
    band: Tensor | None,
    count: int,
) -> Tensor:
    """Draw state sequences ``(count, batch, n)`` given all words: forward filtering, backward sampling (FFBS).

    -1 in the padding and for impossible sentences. With two factors and no band, a backward step draws the latent
    feature between the states first, in O(z + r) time a sample; otherwise it takes O(z r).
    """
    states = filtered(words, lengths, initial, emission, matrices, band)[0]
    batch, n, _ = states.shape
    drawn = lengths.new_full((count, batch, n), -1)
    possible = (lengths > 0) & (states[:, :1].sum(-1) > 0).all(1)
    ends = (
        states[torch.arange(batch, device=words.device), (lengths - 1).clamp(min=0)] if n else states.sum(1)
    )
    possible = possible & (ends.sum(-1) > 0)
    moving = steps(matrices, band)
    following = drawn.new_zeros(count, batch)
    for time in reversed(range(n)):
        here = states[:, time].expand(count, -1, -1).flatten(0, 1)
        going_on = (time + 1 < lengths).expand(count, -1).flatten()
        weights = torch.where(
            going_on.unsqueeze(1), _given_next(here, following.flatten(), moving, band), here
        )
        following = _draw(weights).view(count, batch)
        drawn[:, :, time] = torch.where((time < lengths) & possible, following, -1)
    return drawn


def next_states(states: Tensor, matrices: Tensors, band: Tensor | None) -> Tensor:
    """Draw a next state for each state ``(b,)``; through the latent feature if there are two factors."""
    if len(matrices) == 1 and band is None:
        return _draw(matrices[0][states])
    leaving = [matrices[0][states]] if matrices else []
    chosen = _draw(torch.cat([*leaving, *([] if band is None else [band[states]])], 1))
    rank = matrices[0].shape[1] if matrices else 0
    nearby = states + chosen - rank - (0 if band is None else band.shape[1] // 2)
    if not matrices:
        return nearby
    return torch.where(chosen < rank, _draw(matrices[1][chosen.clamp(max=rank - 1)]), nearby)


def best_path(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the most probable states ``(batch, n)`` (Viterbi) and their joint log-probability with the words.

    The maximum over states cannot use low-rank factors: O(n z^2) time, with the transition matrix computed in
    blocks of columns, and O(n z) memory for back-pointers. -1 in the padding; -inf if all is impossible.
    """
    batch, n = words.shape
    z = initial.shape[1]
    moving = steps(matrices, band)
    size = max(min(BLOCK // max(z * max(batch, 1), 1), z), 1)
    columns = range(0, z, size)
    kept = [_log_columns(moving, band, first, size, z) for first in columns] if z * z <= BLOCK else None
    states = torch.arange(z, device=words.device).expand(batch, z)
    best, pointers = reference.safe_log(initial).double(), []
    for time in range(n):
        within = (time < lengths).unsqueeze(1)
        if time:
            result = [
                (
                    best.unsqueeze(2) + (kept[block] if kept else _log_columns(moving, band, first, size, z))
                ).max(1)
                for block, first in enumerate(columns)
            ]
            reached = torch.cat([part.values for part in result], 1)
            pointers.append(torch.where(within, torch.cat([part.indices for part in result], 1), states))
        else:
            reached = best
        reached = reached + emission[torch.where(within.squeeze(1), words[:, time], 0)]
        best = torch.where(within, reached, best)
    score, last = best.max(1)
    score = torch.where(lengths > 0, score, 0.0)
    path = [last]
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1].unsqueeze(1)).squeeze(1))
    times = torch.arange(n, device=words.device)
    table = torch.stack(path[::-1], 1) if n else lengths.new_empty(batch, 0)
    return torch.where((times < lengths[:, None]) & (score > -torch.inf)[:, None], table, -1), score


def _filtered(
    words: Tensor, lengths: Tensor, initial: Tensor, emission: Tensor, matrices: Tensors, band: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Filter in probability space; also return a mask of sentences with a scale that underflowed."""
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
    """Return a table ``(batch, times, z)`` with zeros beyond the lengths, padded to n times."""
    within = torch.arange(table.shape[1], device=table.device) < lengths[:, None]
    table = torch.where(within.unsqueeze(2), table, 0.0)
    return torch.nn.functional.pad(table, (0, 0, 0, n - table.shape[1]))


def _replaced(table: Tensor, lost: Tensor, found: Tensor) -> Tensor:
    return table.index_copy(0, lost.nonzero().squeeze(1), found)


def retreat(following: Tensor, moving: Steps, back: Steps) -> Tensor:
    """Return a backward step ``(b, z)`` by the transposed matrix, with ``back`` as ``moving.transposed()``."""
    nearby = None if moving.blocks is None else bands.times_transpose(following, moving.blocks)
    if back.last is None:
        assert nearby is not None
        return nearby
    ahead = back.advance(back.message(following))
    return ahead if nearby is None else ahead + nearby


def _given_next(state: Tensor, following: Tensor, moving: Steps, band: Tensor | None) -> Tensor:
    """Return the weights ``(b, z)`` of filtered states given the next state ``(b,)`` of each."""
    if moving.first is None or moving.last is None or band is not None:
        return state * _columns(moving, band, following)
    rank = _draw(moving.message(state) * moving.last[:, following].mT)
    return state * moving.first[:, rank].mT


def _columns(moving: Steps, band: Tensor | None, targets: Tensor) -> Tensor:
    """Return columns of the transition matrix, as rows ``(targets, z)``."""
    result = None
    if moving.last is not None:
        columns = moving.last[:, targets].mT
        result = columns if moving.first is None else columns @ moving.first.mT
    if band is None:
        assert result is not None
        return result
    w = band.shape[1] // 2
    source = targets.unsqueeze(1) - w + torch.arange(2 * w + 1, device=band.device)
    inside = (source >= 0) & (source < len(band))
    source = source.clamp(0, len(band) - 1)
    entries = torch.where(inside, band[source, (targets.unsqueeze(1) - source + w).clamp(0, 2 * w)], 0.0)
    nearby = band.new_zeros(len(targets), len(band)).scatter_add(1, source, entries)
    return nearby if result is None else result + nearby


def _log_columns(moving: Steps, band: Tensor | None, first: int, size: int, states: int) -> Tensor:
    """Return the logs of some columns of the transition matrix, ``(z, columns)``."""
    device = (moving.last if moving.last is not None else band).device  # type: ignore[union-attr]
    targets = torch.arange(first, min(first + size, states), device=device)
    return reference.safe_log(_columns(moving, band, targets).mT)


def _draw(weights: Tensor) -> Tensor:
    """Draw an alternative for each row ``(b, k)`` of weights; the first one if all weights are 0."""
    total = weights.sum(1, keepdim=True)
    first = torch.zeros_like(weights)
    first[:, :1] = 1.0
    return torch.multinomial(torch.where(total > 0, weights, first), 1).squeeze(1)
