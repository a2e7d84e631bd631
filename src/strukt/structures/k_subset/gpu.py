"""Subsets of bounded size on GPUs, as a table; only the best subset is found by sorting, in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.gpu.backend import Gpu
from strukt.kernels.engine.gpu.rounding import Up, rounded
from strukt.kernels.engine.gpu.values import Namer
from strukt.kernels.gradients import group_sums
from strukt.structures.events import within
from strukt.structures.k_subset import polynomial_products
from strukt.structures.k_subset.reference import REFERENCE
from strukt.structures.k_subset.sorting import clean


class Subsets(Gpu):
    """The backend of subsets on GPUs. All items of a batch share one program, whatever their lengths and sizes.

    Scores of -inf forbid padding to be taken, and sizes outside the bounds. The options are the lengths, and the
    smallest and the largest size, ``(batch,)`` each.
    """

    scores = 2
    scored_terms = False

    def _split(self, arguments: Sequence[Any]) -> tuple[Sequence[Tensor], Tensor, Sequence[Any]]:
        scores, lengths, options = super()._split(arguments)
        return scores, lengths, (lengths, *options)

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        return (scores[0].shape[1],)

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        return main.shape[1] ** 2 // 2

    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        return torch.zeros_like(lengths)

    def _places(self, scores: Sequence[Tensor]) -> Sequence[int]:
        return (1,)

    def _place_scores(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        lengths, low, high = options
        taken, omitted = clean(scores[0], scores[1], lengths)
        sizes = torch.arange(taken.shape[1] + 1, device=taken.device)
        allowed = (sizes >= low.unsqueeze(-1)) & (sizes <= high.unsqueeze(-1))
        return torch.cat([taken, omitted, torch.where(allowed, 0.0, -torch.inf).to(taken)], 1)

    def _moves(self, scores: Sequence[Tensor], directions: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        inside = within(options[0], scores[0].shape[1])
        taken, omitted = clean(directions[0], directions[1], options[0])
        sizes = taken.new_zeros(len(taken), taken.shape[1] + 1)
        return torch.cat([torch.where(inside, taken, 0.0), omitted, sizes], 1)

    def _parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Scores:
        taken, omitted = _choices(rows, scores)
        inside = within(options[0], scores[0].shape[1])
        return torch.where(inside, taken, 0.0), group_sums(torch.where(inside, omitted, 0.0), len(scores[1]))

    def _events(self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], namer: Namer) -> Tensor:
        taken, omitted = _choices(used, scores)
        event = torch.where(taken > 0, 1, torch.where(omitted > 0, 0, -1))
        return torch.where(within(options[0], scores[0].shape[1]).unsqueeze(1), event, -1)


def _choices(rows: Tensor, scores: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the entries ``(..., n)`` for taking and for leaving out items, from rows of all weights."""
    n = scores[0].shape[1]
    return rows[..., :n], rows[..., n : 2 * n]


RECURSION = Subsets(polynomial_products.build, polynomial_products.cells)
any_scores, fits, chart_shape = RECURSION.any_scores, RECURSION.fits, RECURSION.chart_shape
inside, outside, derivative = RECURSION.inside, RECURSION.outside, RECURSION.derivative
best, kbest, sample = REFERENCE.best, RECURSION.kbest, RECURSION.sample
entropy, entropy_gradient = RECURSION.entropy, RECURSION.entropy_gradient
surprise, surprise_gradient = RECURSION.surprise, RECURSION.surprise_gradient
