"""Attention in blocks of all pairs, with separate rows for heads to the right, heads to the left, and near heads.

Rows A are ``(s, g, n c, r)`` for g groups of c channels, which share the rows B, ``(s, g, n, r)``. There are s = 2
sides, heads to the right and heads to the left, or 1 if these do not differ. The scores of near pairs are a band
``(g, n, c, k)``, a column for each of k distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from strukt.kernels.autograd import differentiable_gradients, is_batched, is_plain
from strukt.kernels.buckets import Buckets
from strukt.kernels.full_precision import full_precision

_WORDS = 64
"""The number of words in a block, enough for fast products. The block on the diagonal is computed for both sides,
and half of each is discarded."""

_PAIRS = 1 << 19
"""The number of pairs in a block: enough for fast products, few enough for the cache of a core."""

NEVER = -1e30
"""The score of impossible pairs: softmax makes it 0 beside any other score, and no NaN if all are impossible."""


class _Block(NamedTuple):
    """Slices that select groups, words, the rows A of these words, and all words that may be their heads."""

    groups: slice
    words: slice
    rows: slice
    heads: slice


@dataclass(frozen=True)
class Tiles:
    """The partition of all pairs into blocks.

    Args:
        channels: The number of channels in a group, c.
        buckets: The buckets of distances; single distances are near.
        scale: The factor of products.
        causal: Whether words attend only to words on their left.
        transposed: Whether to compute sums over dependents, too.
    """

    channels: int
    buckets: Buckets
    scale: float
    causal: bool
    transposed: bool

    def messages(self, left: Tensor, right: Tensor, band: Tensor, inside: Tensor) -> tuple[Tensor, ...]:
        """Return the probabilities of near heads, and sums of rows weighted by the probabilities of distant heads.

        Args:
            left: Rows A, ``(s, g, n c, r)``.
            right: Rows B, ``(s, g, n, r)``.
            band: The scores of near heads, ``(g, n, c, k)``.
            inside: ``(g, n)``, mask of words.

        Returns:
            The probabilities of near heads as a band, sums over heads in the shape of A, and if ``transposed``
            sums over dependents in the shape of B; differentiable any number of times.
        """
        sums: tuple[Tensor, ...] = _Messages.apply(  # type: ignore[no-untyped-call]
            left, right, band, inside, self
        )
        return sums

    def written_out(self, left: Tensor, right: Tensor, band: Tensor, inside: Tensor) -> tuple[Tensor, ...]:
        """Compute `messages` by differentiable operations on all pairs at once."""
        place = torch.arange(right.shape[2], device=right.device)
        offset = (place - place.unsqueeze(1)).repeat_interleave(self.channels, 0)
        near = [offset == near for _, near in self.buckets.diagonals()]
        to_right, to_left = (_at(left, side) @ _at(right, side).mT for side in (0, 1))
        scores = self.scale * torch.where(offset > 0, to_right, to_left)
        for pairs, numbers in zip(near, band.flatten(1, 2).unbind(-1), strict=True):
            scores = torch.where(pairs, numbers.unsqueeze(-1), scores)
        scores = scores.masked_fill(offset >= 0 if self.causal else offset == 0, NEVER)
        never = in_padding(inside, scores)
        p = (scores if never is None else scores + never).softmax(-1)
        of_near = torch.stack([(p * pairs).sum(-1) for pairs in near], -1).view_as(band) if near else band
        for pairs in near:
            p = p.masked_fill(pairs, 0.0)
        sides = [p * (offset > 0), p * (offset < 0)]
        over_heads = [part @ _at(right, side) for side, part in enumerate(sides)]
        over_dependents = [part.mT @ _at(left, side) for side, part in enumerate(sides)]
        sums = (of_near, _joined(over_heads, len(left)), _joined(over_dependents, len(right)))
        return sums if self.transposed else sums[:2]

    def blocks(self, groups: int, n: int) -> Iterator[_Block]:
        """Yield blocks of all pairs, some groups and words at a time."""
        size = min(n, _WORDS)
        several = max(1, _PAIRS // (size * self.channels * n))
        for g in range(0, groups, several):
            for start in range(0, n, size):
                end = min(start + size, n)
                rows = slice(start * self.channels, end * self.channels)
                heads = slice(0, end if self.causal else n)
                yield _Block(slice(g, min(g + several, groups)), slice(start, end), rows, heads)

    @property
    def _sided(self) -> bool:
        """True if a word may have heads on both sides, and these differ in their rows."""
        return self.buckets.reach is not None and not self.causal

    def products(self, left: Tensor, right: Tensor, block: _Block, scale: float = 1.0) -> Tensor:
        """Return ``scale`` times the products of rows A and B of each pair of a block, ``(g, words c, heads)``."""
        start, end, n = block.words.start, block.words.stop, block.heads.stop
        if not self._sided:
            return _product(left, right, 1, block, block.heads, scale)
        if end - start == n:
            result = _product(left, right, 0, block, block.heads, scale)
        else:
            result = left.new_empty(block.groups.stop - block.groups.start, (end - start) * self.channels, n)
            _product(left, right, 0, block, slice(start, n), scale, result[..., start:])
            _product(left, right, 1, block, slice(0, start), scale, result[..., :start])
        corner = result[..., block.words]
        corner.copy_(
            torch.where(self._lower(corner), _product(left, right, 1, block, block.words, scale), corner)
        )
        return result

    def probabilities(
        self, left: Tensor, right: Tensor, band: Tensor, never: Tensor | None, block: _Block
    ) -> Tensor:
        """Return the probabilities P of a block, ``(g, words c, heads)``."""
        scores = self.products(left, right, block, self.scale)
        for pairs, numbers in self.near(scores, band, block):
            pairs.copy_(numbers)
        self._by_word(scores).diagonal(block.words.start, 1, 3).fill_(NEVER)
        if self.causal:
            corner = scores[..., block.words]
            corner.masked_fill_(~self._lower(corner), NEVER)
        if never is not None:
            scores += never[block.groups, :, block.heads]
        return scores.softmax(-1)

    def near(self, pairs: Tensor, band: Tensor, block: _Block) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield, for each near distance, views of its pairs in a block and of their numbers in a band.

        Both are ``(g, c, pairs)``.
        """
        by_word = self._by_word(pairs)
        of_words = band[block.groups, block.words]
        for place, offset in self.buckets.diagonals(band.shape[1]):
            offset += block.words.start
            diagonal = by_word.diagonal(offset, 1, 3)
            yield diagonal, of_words[:, max(-offset, 0) :, :, place - 1][:, : diagonal.shape[-1]].mT

    def add(
        self,
        pairs: Tensor,
        block: _Block,
        over_heads: tuple[Tensor, Tensor] | None,
        over_dependents: tuple[Tensor, Tensor] | None,
        scale: float = 1.0,
    ) -> None:
        """Add rows weighted by pairs to sums over heads and over dependents: (sums, rows) each, None to skip."""
        for side, heads, part in self._sides(pairs, block):
            if over_heads is not None:
                into, rows = (_at(each, side)[block.groups] for each in over_heads)
                into[:, block.rows].baddbmm_(part, rows[:, heads], alpha=scale)
            if over_dependents is not None:
                into, rows = (_at(each, side)[block.groups] for each in over_dependents)
                into[:, heads].baddbmm_(part.mT, rows[:, block.rows], alpha=scale)

    def _sides(self, pairs: Tensor, block: _Block) -> Sequence[tuple[int, slice, Tensor]]:
        """Return the pairs of a block as rectangles of one side each: (side, heads, pairs).

        It changes ``pairs``, so call it only once.
        """
        if not self._sided:
            return [(1, block.heads, pairs)]
        start = block.words.start
        corner = pairs[..., block.words]
        lower = corner * self._lower(corner)
        corner -= lower
        sides = [(0, slice(start, block.heads.stop), pairs[..., start:]), (1, block.words, lower)]
        return [*sides, (1, slice(0, start), pairs[..., :start])] if start else sides

    def _by_word(self, pairs: Tensor) -> Tensor:
        """Return the pairs of a block with separate axes of words and channels, ``(g, n, c, ...)``."""
        return pairs.view(len(pairs), -1, self.channels, pairs.shape[-1])

    def _lower(self, corner: Tensor) -> Tensor:
        """Return a mask ``(words c, words)`` of the pairs within a block: True if the head is to the left."""
        place = torch.arange(corner.shape[-1], device=corner.device)
        return place.repeat_interleave(self.channels).unsqueeze(1) > place


class _Messages(torch.autograd.Function):
    """Autograd function of `Tiles.messages`, whose backward pass recomputes P."""

    @staticmethod
    def forward(
        ctx: Any, left: Tensor, right: Tensor, band: Tensor, inside: Tensor, tiles: Tiles
    ) -> tuple[Tensor, ...]:
        ctx.save_for_backward(left, right, band, inside)
        ctx.tiles = tiles
        never = in_padding(inside, left)
        of_near, first = torch.zeros_like(band), torch.zeros_like(left)
        second = torch.zeros_like(right) if tiles.transposed else None
        for block in tiles.blocks(*right.shape[1:3]):
            p = tiles.probabilities(left, right, band, never, block)
            for pairs, numbers in tiles.near(p, of_near, block):
                numbers.copy_(pairs)
                pairs.zero_()
            tiles.add(p, block, (first, right), None if second is None else (second, left))
        return (of_near, first) if second is None else (of_near, first, second)

    @staticmethod
    @full_precision
    def backward(ctx: Any, *grads: Tensor) -> Any:
        left, right, band, inside = ctx.saved_tensors
        tiles: Tiles = ctx.tiles
        if torch.is_grad_enabled() or any(map(is_batched, grads)) or not is_plain():
            return (*_differentiable(ctx, grads), None, None)
        never = in_padding(inside, left)
        of_near, first, *second = grads
        # d P = dO1 B' + A dO2', as one product.
        outer, inner = (
            (torch.cat([first, left], -1), torch.cat([right, *second], -1)) if second else (first, right)
        )
        to_left, to_right, to_band = torch.zeros_like(left), torch.zeros_like(right), torch.zeros_like(band)
        for block in tiles.blocks(*right.shape[1:3]):
            p = tiles.probabilities(left, right, band, never, block)
            of_p = tiles.products(outer, inner, block)
            for pairs, numbers in tiles.near(of_p, of_near, block):
                pairs.copy_(numbers)
            of_scores = torch.ops.aten._softmax_backward_data(of_p, p, -1, p.dtype)
            for pairs, numbers in tiles.near(of_scores, to_band, block):
                numbers.copy_(pairs)
                pairs.zero_()
            for pairs, _ in tiles.near(p, band, block):
                pairs.zero_()
            tiles.add(p, block, (to_left, second[0]) if second else None, (to_right, first))
            tiles.add(of_scores, block, (to_left, right), (to_right, left), tiles.scale)
        return to_left, to_right, to_band, None, None


def _at(rows: Tensor, side: int) -> Tensor:
    """Return the rows for heads on a side, 0 for right and 1 for left, ``(g, ..., r)``."""
    return rows[side if len(rows) > 1 else 0]


def _product(
    left: Tensor,
    right: Tensor,
    side: int,
    block: _Block,
    heads: slice,
    scale: float,
    out: Tensor | None = None,
) -> Tensor:
    """Return the products of rows A and B of a side for a block and some heads, times ``scale``."""
    a, b = _at(left, side)[block.groups, block.rows], _at(right, side)[block.groups, heads].mT
    added = a.new_zeros(()) if out is None else out
    return torch.baddbmm(added, a, b, beta=0, alpha=scale, out=out)


def may_attend(inside: Tensor, causal: bool) -> Tensor:
    """Return a mask ``(batch, n)`` of the words with another word to attend to; if ``causal``, to their left."""
    before = inside.cumsum(1) if causal else inside.sum(1, keepdim=True)
    return inside & (before > 1)


def is_everywhere(mask: Tensor) -> bool:
    """Return True if a mask is True everywhere; always False if it cannot be read (tracing, ``torch.func``)."""
    return is_plain() and bool(mask.all())


def in_padding(inside: Tensor, like: Tensor) -> Tensor | None:
    """Return numbers to add to scores ``(g, ..., n)``, to exclude heads in the padding; None without padding."""
    if is_everywhere(inside):
        return None
    return torch.zeros_like(inside, dtype=like.dtype).masked_fill_(~inside, NEVER).unsqueeze(1)


def _joined(sides: list[Tensor], count: int) -> Tensor:
    """Stack the sums of both sides if these have rows of their own (``count`` is 2), else add them up."""
    return torch.stack(sides) if count > 1 else sides[0].add(sides[1]).unsqueeze(0)


def _differentiable(ctx: Any, grads: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
    """Return the gradients of the first three tensors of `_Messages`, computed by differentiable operations."""
    *tensors, inside = ctx.saved_tensors
    with torch.enable_grad():
        values = ctx.tiles.written_out(*tensors, inside)
    values, grads = zip(*(pair for pair in zip(values, grads, strict=True) if pair[0].requires_grad), strict=True)
    return differentiable_gradients(values, tensors, grads)
