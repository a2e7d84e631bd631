"""Reference of subsets of bounded size in PyTorch: sums over any semiring in a balanced tree of blocks of items.

A block holds the total of its subsets of each size. Two blocks merge into one: its subsets of size c are those of
size a of the left block with those of size c - a of the right block, a product of polynomials. Log n such steps
cover all items (Biscarri et al. 2018, for sums of independent Bernoulli variables).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram, Recursion
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.semiring import NEG_INF, Semiring
from strukt.structures.k_subset import sorting


def recursion(
    semiring: Semiring, scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor
) -> Tensor:
    """Return the semiring's total over all subsets of low to high items.

    Args:
        semiring: The semiring to compute in.
        scores: ``(..., batch, n)``, the score of taking each item.
        omitted: ``(..., g, n)``, the score of leaving out each item; g divides the batch, and consecutive items
            share.
        lengths: ``(batch,)``.
        low: ``(batch,)``, the smallest size.
        high: ``(batch,)``, the largest size.

    Time and memory O(n k) for sizes up to k, log n steps one after another.
    """
    most = largest(high, scores.shape[-1])
    blocks = _leaves(semiring, *sorting.clean(scores, omitted, lengths))
    while blocks.shape[-2] > 1:
        blocks = _merge(semiring, blocks, most, scores)
    sizes = torch.arange(blocks.shape[-1], device=scores.device)
    allowed = (sizes >= low.unsqueeze(-1)) & (sizes <= high.unsqueeze(-1))
    return semiring.sum(semiring.weigh(blocks.squeeze(-2), _only(allowed, scores)), -1)


def largest(high: Tensor, n: int) -> int:
    """Return the largest size in ``high``, or n if its values cannot be read, as inside ``torch.func.vmap``."""
    if torch.compiler.is_compiling():
        return n
    try:
        return max(0, min(int(high.max()), n)) if high.numel() else 0
    except RuntimeError:
        return n


def _leaves(semiring: Semiring, scores: Tensor, omitted: Tensor) -> Tensor:
    """Return the blocks of one item each, ``(..., batch, m, 2)``: the totals of the subsets of size 0 and 1.

    m is the smallest power of two that is at least n; the items after n cannot be taken.
    """
    missing = (1 << max(scores.shape[-1] - 1, 0).bit_length()) - scores.shape[-1]
    scores = torch.nn.functional.pad(scores, (0, missing), value=NEG_INF)
    omitted = torch.nn.functional.pad(omitted, (0, missing))
    choices = torch.stack([omitted, scores], -1)
    return semiring.weigh(semiring.one(choices), choices)


def _merge(semiring: Semiring, blocks: Tensor, most: int, scores: Tensor) -> Tensor:
    """Merge neighbouring ``blocks (..., batch, m, sizes)`` in pairs, for sizes up to ``most``."""
    left, right = blocks[..., 0::2, :], blocks[..., 1::2, :]
    part = torch.arange(blocks.shape[-1], device=blocks.device)
    whole = torch.arange(min(2 * blocks.shape[-1] - 1, most + 1), device=blocks.device)
    rest = whole.unsqueeze(-1) - part
    fits = (rest >= 0) & (rest < len(part))
    pairs = semiring.times(left.unsqueeze(-2), right[..., rest.clamp(0, len(part) - 1)])
    return semiring.sum(semiring.weigh(pairs, _only(fits, scores)), -1)


def _only(allowed: Tensor, scores: Tensor) -> Tensor:
    """Return scores of 0 where ``allowed`` is True, else -inf, with the leading axes of ``scores`` in front."""
    barred = torch.zeros(allowed.shape, dtype=scores.dtype, device=scores.device).masked_fill(
        ~allowed, NEG_INF
    )
    return barred.expand(*scores.shape[:-2], *barred.shape)


class SubsetEvents(DynamicProgram):
    """A dynamic program whose events are 1 for items taken, 0 for others, and -1 in the padding."""

    def __init__(self, recursion: Recursion, count: int) -> None:
        super().__init__(recursion, count, _taken)

    def _events(self, ring: Semiring, arguments: tuple[Any, ...], weights: list[Tensor]) -> list[Tensor]:
        return [padded(event, arguments[self.count]) for event in super()._events(ring, arguments, weights)]


class SubsetProgram(SubsetEvents):
    """The oracles of subsets; best subsets are found by sorting."""

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, n)`` and its score ``(batch,)``; time O(n log n)."""
        with torch.no_grad():
            result = sorting.best(*arguments)
        feasible = (result.score > NEG_INF).unsqueeze(-1)
        return padded(torch.where(feasible, result.taken.long(), -1), arguments[self.count]), result.score


def padded(events: Tensor, lengths: Tensor) -> Tensor:
    """Return events ``(batch, n)`` with -1 in the padding."""
    beyond = torch.arange(events.shape[-1], device=events.device) >= lengths.unsqueeze(-1)
    return events.masked_fill(beyond, -1)


def _taken(parts: Tensor, *constants: Tensor) -> Tensor:
    return (parts > 0).long()


REFERENCE = SubsetProgram(recursion, count=2)

ORACLES = TableOracles(
    __package__, scores=("scores", "omitted"), options=(), reference=REFERENCE, constants=("low", "high")
)
