"""Best subsets by sorting the items by the gain of taking them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF


class Ranking(NamedTuple):
    """The best subset of each item of a batch.

    Attributes:
        taken: A mask of its items, ``(batch, n)``; all False if there is no subset.
        score: Its score ``(batch,)``, -inf if there is no subset.
        gain: The score gained by taking each item ``(batch, n)``; infinite if only one choice is possible.
        full: A mask ``(batch,)`` of subsets to which no further item can be added.
    """

    taken: Tensor
    score: Tensor
    gain: Tensor
    full: Tensor


def best(scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor) -> Ranking:
    """Return the best subset of each item of a batch; time O(n log n).

    It has the items of positive gain; if the sizes require more or fewer items, those of the highest gains. The
    arguments are those of `reference.recursion`, with one leading axis.
    """
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
    """Return, for each item, the best score of a subset with it: ``(batch, n)``; time O(n log n).

    An item that the best subset leaves out is added to it, if the size allows that, or replaces the item of the
    lowest gain in it: all other changes gain less.
    """
    taken, score, gain, full = best(scores, omitted, lengths, low, high)
    gain = torch.where((score > NEG_INF).unsqueeze(-1), gain, NEG_INF)
    weakest = torch.where(taken, gain, torch.inf).amin(-1, keepdim=True) if gain.shape[-1] else gain
    swapped = torch.where(weakest < torch.inf, gain - weakest, NEG_INF)
    added = torch.where(full.unsqueeze(-1), NEG_INF, gain)
    return score.unsqueeze(-1) + torch.where(taken, 0.0, torch.maximum(added, swapped))


def clean(scores: Tensor, omitted: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return both scores, ``(..., batch, n)``, so that padding must be left out, with score 0.

    ``omitted (..., g, n)`` is repeated for the items that share its rows.
    """
    omitted = omitted.repeat_interleave(scores.shape[-2] // max(omitted.shape[-2], 1), -2)
    beyond = torch.arange(scores.shape[-1], device=scores.device) >= lengths.unsqueeze(-1)
    return scores.masked_fill(beyond, NEG_INF), omitted.masked_fill(beyond, 0.0)
