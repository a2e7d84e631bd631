"""Reference of projective trees with labelled arcs: labels are summed first, outside the cubic part."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram, used_alternatives
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.semiring import Semiring
from strukt.structures.projective_tree.reference import clean, total


def recursion(semiring: Semiring, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the semiring's total over all projective trees and labels of their arcs.

    Args:
        semiring: The semiring to compute in.
        arcs: ``(..., batch, n, n + 1, c)``, as in `strukt.structures.projective_tree.reference`, with a score for
            each label.
        lengths: ``(batch,)``.
        single_root: Whether exactly one word depends on the root.

    Time O(n^3 + n^2 c).
    """
    if arcs.shape[-3] == 0:
        return semiring.one(arcs.sum((-3, -2, -1)) * 0)
    arcs = clean(arcs, lengths, 1)
    ones = semiring.one(arcs)
    values = semiring.sum(semiring.weigh(ones, arcs), -1)
    return total(semiring, semiring.times, values, ones[..., 0], lengths, single_root)


def _heads_and_labels(parts: Tensor, single_root: bool) -> Tensor:
    """Return the events ``(..., n, 2)``, heads and labels, of 0/1 vectors of parts ``(..., n, n + 1, c)``."""
    used, labels = used_alternatives(parts.flatten(-2)), parts.shape[-1]
    return torch.stack([used.div(labels, rounding_mode="floor"), torch.where(used < 0, -1, used % labels)], -1)


class _Oracles(TableOracles):
    """The oracles of trees whose events have a head and a label for each word."""

    def _event_shape(self, main: Tensor) -> Sequence[int]:
        return (main.shape[1], 2)


ORACLES = _Oracles(
    __package__,
    scores=("arcs",),
    options=("single_root",),
    reference=DynamicProgram(recursion, count=1, to_events=_heads_and_labels),
)
