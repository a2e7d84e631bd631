"""Constituency trees whose spans have binary codes instead of labels."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.places import Places
from strukt.kernels.semiring import NEG_INF
from strukt.structures import events
from strukt.structures.binary_tree import BinaryTree, crossed
from strukt.structures.bit_span_tree.codes import MOST_BITS, to_bits
from strukt.structures.bit_span_tree.reference import REFERENCE, max_marginals


class BitSpanTree(BinaryTree):
    """Binary trees in which each span has a code of k bits (Wang and Utiyama 2024, section 3).

    Args:
        bits: ``batch + (n + 1, n + 1, k)`` for 1 to 62 bits; ``[i, j]`` scores the value +1 of each bit of the
            span from fencepost i (before word i, counted from 0) to j > i. Other entries have no effect, but must
            not be NaN or +inf.
        lengths: ``batch``, in words; all n if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.
        negative: The scores of the value -1, in the shape of ``bits``; 0 if None.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n + 1, n + 1)``: the code of each span of the tree, a number whose bit b is set if bit b
    is +1; -1 elsewhere. Parts are the bits of value +1: `marginals`, and the masks of `condition`, have the shape
    of ``bits``. Sums and maxima over trees take O(n^3 + n^2 k) time per item, because the sum over all codes of a
    span is a product over its bits. Without ``negative``, its logarithm is ``softplus(bits).sum(-1)``. Parts do
    not determine the tree, because a span whose bits are all -1 has none; so `from_parts` and
    `sample_without_replacement` are not available.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> trees = BitSpanTree(torch.zeros(3, 3, 4))
        >>> trees.log_count.exp().round()  # one tree of 3 spans, 2^4 codes each
        tensor(4096.)
        >>> bits = torch.full((3, 3, 2), -1.0)
        >>> bits[0, 2] = torch.tensor([3.0, -3.0])
        >>> BitSpanTree(bits).mode[0, 2], BitSpanTree(bits).bit_marginals[0, 2]
        (tensor(1), tensor([[0.0474, 0.9526],
                [0.9526, 0.0474]]))
    """

    oracles = TableOracles(
        __package__, scores=("positive", "negative"), options=(), reference=REFERENCE, event_dim=2
    )
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("bits", "negative")

    def __init__(
        self,
        bits: Tensor,
        lengths: Lengths | None = None,
        validate_args: bool | None = None,
        *,
        negative: Tensor | None = None,
    ) -> None:
        arguments.scores("bits", bits, "batch + (n + 1, n + 1, k)", 3)
        if bits.shape[-3] != bits.shape[-2] or not bits.shape[-2] or not 0 < bits.shape[-1] <= MOST_BITS:
            raise ValueError(
                f"bits has shape {tuple(bits.shape)}; expected batch + (n + 1, n + 1, k), a row and a column for "
                f"each place between words and at both ends, and 1 to {MOST_BITS} bits"
            )
        if negative is None:
            negative = torch.zeros_like(bits, requires_grad=False)
        arguments.scores("negative", negative, "that of bits", 3)
        if negative.shape != bits.shape:
            raise ValueError(
                f"negative has shape {tuple(negative.shape)}; expected that of bits, {tuple(bits.shape)}"
            )
        self.extents = ([1, 1, UNBOUNDED], [1, 1, UNBOUNDED])
        super().__init__((bits, negative), lengths, (), validate_args)

    @property
    def bit_marginals(self) -> Tensor:
        """The probability of both values of each bit of a span: ``batch + (n + 1, n + 1, k, 2)``; differentiable.

        ``[i, j, b, 0]`` is the probability that the tree has the span from i to j and its bit b is -1,
        ``[i, j, b, 1]`` that it has the span and the bit is +1. The two add up to the probability of the span.
        """
        positive, negative = self.oracles.marginals(*self._arguments())
        return self._to_batch(torch.stack([negative, positive], -1))

    @property
    def _parts_within(self) -> Tensor:
        return self._within.unsqueeze(-1)

    def to_parts(self, event: Tensor) -> Tensor:
        event = self._labelled_event(event)
        used = self._within & (event >= 0)
        return (used.unsqueeze(-1) & to_bits(event, self.scores[0].shape[-1])).to(self.scores[0].dtype)

    def _from_parts(self, parts: Tensor) -> Tensor:
        raise NotImplementedError(
            "a span whose bits are all -1 has no part, so the parts do not determine the tree; keep the events"
        )

    @property
    def _most_parts(self) -> int:
        return math.prod(self.scores[0].shape[-3:])

    def sample_without_replacement(self, k: int) -> Tensor:
        raise NotImplementedError(
            "the positive bits of a tree with codes may be a subset of those of another tree, so parts do not "
            "separate them; draw with `sample` and keep the distinct ones, or take the best ones from `topk`"
        )

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        positive, negative = scores
        return type(self)(positive, lengths, validate_args=False, negative=negative.expand(positive.shape))

    @property
    def _labels(self) -> int:
        return 1 << self.scores[0].shape[-1]

    def _places(self, event: Tensor) -> Places:
        bits = self.scores[0].shape[-1]
        spans, labels, _ = self._read(event)
        *leading, count = spans.shape
        rows = math.prod(leading)
        result = events.bit_places(spans.reshape(rows, count), labels.reshape(rows, count), bits)
        return tuple(places.reshape(*leading, count * bits) for places in result)

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Forbid the value -1 of each required bit, and all spans that cross a span with a required bit."""
        positive, negative = self.scores
        crossing = self._crossed_by_required(required.any(-1)).unsqueeze(-1)
        return positive.masked_fill(crossing, NEG_INF), negative.masked_fill(crossing | required, NEG_INF)

    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        known = known & self._within
        impossible = (crossed(known & (event >= 0)) | (known & (event < 0))).unsqueeze(-1)
        positive, negative = self.scores
        code, known = to_bits(event, positive.shape[-1]), known.unsqueeze(-1)
        return self._with_scores(
            positive.masked_fill(impossible | (known & ~code), NEG_INF),
            negative.masked_fill(impossible | (known & code), NEG_INF),
        )
