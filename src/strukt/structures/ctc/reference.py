"""Reference of CTC: the forward recursion over any semiring, in PyTorch.

A target of m labels has 2 m + 1 states: a blank, the first label, a blank, the second label, ..., a blank. From
one frame to the next a labelling stays in its state, moves to the next state, or skips the blank between two
different labels. Each labelling that collapses to the target is one path through the states.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import NEG_INF, Max, Semiring


def recursion(
    semiring: Semiring, logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor
) -> Tensor:
    """Return the semiring's total over all labellings that collapse to the target, ``(..., batch)``.

    Args:
        semiring: The semiring to compute in.
        logits: ``(..., batch, n, c)``.
        lengths: ``(batch,)``, in frames.
        states: ``(batch, 2 m + 1)``, the label of each state, with blanks at even indices.
        target_lengths: ``(batch,)``, in labels.

    Time O(n m), n steps one after another (Graves et al. 2006, equations 5 to 8).
    """
    emissions = _emissions(logits, states)
    last = _forward(semiring, emissions, lengths, states)[-1]
    padded = torch.cat([_nothing(semiring, emissions), last], -1)
    ends = torch.stack([2 * target_lengths, 2 * target_lengths + 1], -1)
    return semiring.sum(padded.gather(-1, ends.expand(*padded.shape[:-1], 2)), -1)


def max_marginals(logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor) -> Tensor:
    """Return, for each frame and label, the best score of a labelling with it, ``(batch, n, c)``.

    Labels other than the blank that are not in the target have -inf. Time O(n (m + c)).
    """
    emissions = _emissions(logits, states)
    forward = _forward(Max(), emissions, lengths, states)
    nowhere, result = torch.full_like(logits[:, :1].squeeze(1), NEG_INF), []
    ends = 2 * target_lengths[:, None] - torch.arange(states.shape[-1], device=states.device)
    beta = emissions.new_zeros(states.shape).masked_fill((ends != 0) & (ends != 1), NEG_INF)
    for t in range(emissions.shape[1] - 1, -1, -1):
        result.append(nowhere.scatter_reduce(-1, states, forward[t + 1] + beta, "amax"))
        entered = emissions[:, t] + beta
        skipped = entered.masked_fill(~may_be_skipped_to(states), NEG_INF)
        onward = torch.maximum(
            torch.maximum(entered, _from_the_right(entered, 1)), _from_the_right(skipped, 2)
        )
        beta = torch.where((t < lengths)[:, None], onward, beta)
    return torch.stack(result[::-1], 1) if result else torch.full_like(logits, NEG_INF)


def _emissions(logits: Tensor, states: Tensor) -> Tensor:
    """Return the score of each state at each frame, ``(..., batch, n, 2 m + 1)``."""
    return logits.gather(-1, states.unsqueeze(-2).expand(*logits.shape[:-1], states.shape[-1]))


def may_be_skipped_to(states: Tensor) -> Tensor:
    """Return a mask ``(batch, 2 m + 1)`` of the states that may directly follow the state two before them.

    These are the labels that differ from the label before, since only the blank between two labels is skipped.
    """
    same = states[:, 2:] == states[:, :-2]
    place = torch.arange(states.shape[-1], device=states.device)
    return (
        (place % 2 == 1)
        & (place > 1)
        & ~torch.nn.functional.pad(same, (states.shape[-1] - same.shape[-1], 0))
    )


def _from_the_right(values: Tensor, places: int) -> Tensor:
    """Shift values on the last axis to the left by ``places``, with -inf at the end."""
    moved = torch.nn.functional.pad(values, (0, places), value=NEG_INF)
    return moved[..., places:]


def _nothing(semiring: Semiring, emissions: Tensor) -> Tensor:
    """Return the semiring's zero, with a last axis of size 1."""
    missing = emissions.new_full((*emissions.shape[:-2], 1), NEG_INF)
    return semiring.weigh(semiring.one(missing), missing)


def _forward(semiring: Semiring, emissions: Tensor, lengths: Tensor, states: Tensor) -> list[Tensor]:
    """Return the totals over all paths to each state, ``(..., batch, 2 m + 1)``, at n + 1 times.

    These are before the first frame and after each frame. Paths start in the first blank, before the first frame.
    After the end of an item its last totals are repeated.
    """
    size = states.shape[-1]
    nothing = _nothing(semiring, emissions)
    blank = torch.zeros_like(states, dtype=emissions.dtype).expand(*emissions.shape[:-2], size)
    elsewhere = blank.masked_fill(torch.arange(size, device=states.device) > 0, NEG_INF)
    skips = blank.masked_fill(~may_be_skipped_to(states), NEG_INF)
    alphas = [semiring.weigh(semiring.one(blank), elsewhere)]
    for t in range(emissions.shape[-2]):
        stay = alphas[-1]
        step = torch.cat([nothing, stay[..., :-1]], -1)
        skip = semiring.weigh(torch.cat([nothing, step[..., :-1]], -1), skips)
        entered = semiring.sum(semiring.stack([stay, step, skip]), -1)
        following = semiring.weigh(entered, emissions[..., t, :])
        alphas.append(torch.where((t < lengths)[:, None], following, stay))
    return alphas


REFERENCE = DynamicProgram(recursion, count=1)
