"""Best subsets by sorting: items in the order of what it gains to take them rather than leave them out."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF


class Ranking(NamedTuple):
    """The best subset of each item of a batch.

    Attributes:
        taken: Its items, ``(batch, n)``; none where there is no subset.
        score: Its score ``(batch,)``, -inf where there is none.
        gain: What taking each item rather than leaving it out adds ``(batch, n)``; infinite where only one is
            possible.
        full: Whether one more item would be too many ``(batch,)``.
    """

    taken: Tensor
    score: Tensor
    gain: Tensor
    full: Tensor


def best(scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor) -> Ranking:
    """The best subset: the items of the highest gain, as many as are allowed and gain; time O(n log n)."""
    scores, omitted = clean(scores, omitted, lengths)
    required, possible = omitted == NEG_INF, scores > NEG_INF
    feasible = (possible | ~required).all(-1)
    gain = torch.where(required, torch.inf, scores - torch.where(required, 0.0, omitted))
    least = torch.maximum(low, required.sum(-1))
    most = torch.minimum(high, possible.sum(-1))
    count = torch.minimum(torch.maximum((gain > 0).sum(-1), least), most)
    feasible = feasible & (least <= most)
    order = gain.sort(-1, descending=True).indices
    first = torch.arange(gain.shape[-1], device=gain.device) < count.unsqueeze(-1)
    taken = torch.zeros_like(first).scatter(-1, order, first) & feasible.unsqueeze(-1)
    score = torch.where(taken, scores, omitted).sum(-1)
    return Ranking(taken, torch.where(feasible, score, NEG_INF), gain, count == most)


def max_marginals(scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """For each item the best score of a subset with it: ``(batch, n)``; time O(n log n).

    An item that the best subset leaves out is added to it, if there is room, or takes the place of the item
    of the lowest gain in it: after the items are sorted, all other changes gain less.
    """
    taken, score, gain, full = best(scores, omitted, lengths, low, high)
    gain = torch.where((score > NEG_INF).unsqueeze(-1), gain, NEG_INF)
    weakest = torch.where(taken, gain, torch.inf).amin(-1, keepdim=True) if gain.shape[-1] else gain
    swapped = torch.where(weakest < torch.inf, gain - weakest, NEG_INF)
    added = torch.where(full.unsqueeze(-1), NEG_INF, gain)
    return score.unsqueeze(-1) + torch.where(taken, 0.0, torch.maximum(added, swapped))


def clean(scores: Tensor, omitted: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Scores in which the items beyond the lengths must be left out; one row of ``omitted`` for each item."""
    omitted = omitted.repeat_interleave(scores.shape[-2] // max(omitted.shape[-2], 1), -2)
    beyond = torch.arange(scores.shape[-1], device=scores.device) >= lengths.unsqueeze(-1)
    return scores.masked_fill(beyond, NEG_INF), omitted.masked_fill(beyond, 0.0)
