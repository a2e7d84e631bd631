"""Subsets of items of a given size or range of sizes, as 0/1 events."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.inference.sparsemap import SparseMAP
from strukt.inference.systematic import systematic_mixture
from strukt.kernels import capped_simplex
from strukt.kernels.places import Places
from strukt.kernels.semiring import NEG_INF, precise
from strukt.structures import events
from strukt.structures.explanations import sets
from strukt.structures.indicator import IndicatorStructure
from strukt.structures.k_subset.reference import ORACLES
from strukt.structures.k_subset.sorting import max_marginals

Size = int | Tensor
"""The size of a subset: one for all items of a batch, or a LongTensor of the batch shape."""

OF_RANGES = ", or a tuple of two of these"
"""The end of error messages about sizes of which there may be a range."""


class SubsetStructure(IndicatorStructure, abc.ABC):
    """Subsets as events ``batch + (n,)``: 1 for items taken, 0 for items left out, -1 for padding.

    The first score tensor is that of taking each item, ``batch + (n,)``, the second that of leaving it out, with
    batch axes of size 1 if shared. The first constant is the smallest size, ``batch``, the last one the largest.
    """

    def _are_structures(self, event: Tensor) -> Tensor:
        sizes = (self.constants[0], self.constants[-1])
        return self._apply(events.are_subsets, event, *sizes, axes=1)  # type: ignore[no-any-return]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return sets.subset(event, length, constants[0], constants[-1])

    @property
    def _within(self) -> Tensor:
        return events.within(self.lengths, self.event_shape[0])

    def _places_of_items(self, event: Tensor) -> Places:
        """Return the places of the items taken, and of those left out, as `events.item_places` does."""
        return self._apply(events.item_places, event, axes=1)  # type: ignore[no-any-return]

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Forbid leaving out a required item."""
        taken, omitted, *others = self.scores
        return taken, omitted.expand_as(taken).masked_fill(required, NEG_INF), *others


class KSubset(SubsetStructure):
    """Subsets of k of n items, or of a range of sizes, scored by each item taken (Chen, Dempster and Liu 1994).

    Args:
        scores: ``batch + (n,)``, the score of taking each item.
        k: The size of the subsets, or a tuple of the smallest and the largest one. Each is a non-negative integer,
            or a LongTensor ``batch``. Sizes above the length have no subset.
        lengths: ``batch``; all n if None.
        omitted: ``batch + (n,)`` or ``(n,)``, the score of leaving each item out; 0 if None. Where it is -inf, the
            item must be taken.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n,)``: 1 for items taken, 0 for others, -1 in the padding. `log_partition`, `marginals`,
    `entropy`, `cross_entropy`, `sample` and `topk` take O(n k) time per item of the batch for a largest size k,
    and O(n^2) on a GPU. `sample` adds O(n) per sample, and ``topk(m)`` adds O(n m); in the PyTorch reference it
    takes O(n k m^3). `mode` and `max_marginals` sort, in O(n log n).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> scores = torch.tensor([2.0, 0.0, 1.0, -1.0])
        >>> pairs = KSubset(scores, 2)
        >>> pairs.mode
        tensor([1, 0, 1, 0])
        >>> pairs.marginals
        tensor([0.8808, 0.3056, 0.6944, 0.1192])
        >>> KSubset(scores, (1, 3)).log_count.exp().round()
        tensor(14.)
    """

    oracles = ORACLES
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("scores", "omitted")
    constant_names: ClassVar[tuple[str, ...]] = ("the smallest size", "the largest size")
    extents = ([0], [0])

    def __init__(
        self,
        scores: Tensor,
        k: Size | tuple[Size, Size],
        lengths: Lengths | None = None,
        omitted: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("scores", scores, "batch + (n,)", 1)
        if lengths is not None:  # checked first, because sizes are often computed from them
            lengths = arguments.lengths(
                lengths, scores.shape[:-1], scores.shape[-1], scores.device, check=validate_args is not False
            )
        low, high = k if isinstance(k, tuple) else (k, k)
        sizes = (sizes_of(low, scores, OF_RANGES), sizes_of(high, scores, OF_RANGES))
        super().__init__((scores, omissions(omitted, scores)), lengths, (), validate_args, sizes)

    @property
    def low(self) -> Tensor:
        """The smallest size, ``batch``."""
        return self.constants[0]

    @property
    def high(self) -> Tensor:
        """The largest size, ``batch``."""
        return self.constants[1]

    def _places(self, event: Tensor) -> Places:
        return self._places_of_items(event)

    def _sparsemap_in_closed_form(self) -> SparseMAP:
        """Return the nearest point in [0, 1]^n whose sum is a permitted size, as a mixture of few subsets."""
        taken, omitted, lengths, low, high = (precise(value) for value in self._arguments())
        within = torch.arange(taken.shape[-1], device=taken.device) < lengths.unsqueeze(-1)
        possible = within & (taken > NEG_INF)
        required = possible & (omitted == NEG_INF)
        stuck = within & ~possible & (omitted == NEG_INF)
        low, high = low - required.sum(-1), high - required.sum(-1)
        infeasible = stuck.any(-1) | (high < 0) | (low > (possible & ~required).sum(-1))
        guards.require_feasible(taken, torch.where(infeasible, NEG_INF, 0.0))
        gains = torch.where(possible & ~required, taken - torch.where(required, 0.0, omitted), NEG_INF)
        chosen = torch.where(required, 1.0, _cut_cube(gains, low.clamp(min=0.0), high))
        weights, subsets = systematic_mixture(chosen)
        events = torch.where(within.unsqueeze(1), subsets.long(), -1)
        dtype, done = self.scores[0].dtype, torch.ones_like(infeasible)
        none = torch.zeros_like(lengths)
        return SparseMAP(chosen.to(dtype), weights.to(dtype), events, done, none.to(dtype), none.long())

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        taken, omitted = scores
        return type(self)(taken, (constants[0], constants[1]), lengths, omitted, validate_args=False)

    def _check_values(self) -> None:
        low, high = (constant.flatten() for constant in self.constants)
        guards.require_sizes(low, high)


def _cut_cube(gains: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return the point ``(batch, n)`` of [0, 1]^n nearest to ``gains`` with a sum from ``low`` to ``high``."""
    free = gains.clamp(0.0, 1.0)
    total = free.detach().sum(-1, keepdim=True)
    raised = torch.where(total < low.unsqueeze(-1), capped_simplex.subset(gains, low), free)
    return torch.where(total > high.unsqueeze(-1), capped_simplex.subset(gains, high), raised)


def sizes_of(k: Size, scores: Tensor, more: str = "") -> Tensor:
    """Return the size of the subsets of each item, as a LongTensor of the batch shape of ``scores``.

    ``more`` ends the error message.

    Raises:
        ValueError: If ``k`` is neither a non-negative integer nor a LongTensor of this shape on the same device.
    """
    batch_shape = scores.shape[:-1]
    if isinstance(k, Tensor):
        if (k.dtype, k.shape, k.device) == (torch.int64, batch_shape, scores.device):
            return k
        description = f"of dtype {k.dtype} and shape {tuple(k.shape)} on {k.device}"
    elif arguments.is_integer(k) and k >= 0:
        return torch.full(batch_shape, int(k), dtype=torch.int64, device=scores.device)
    else:
        description = repr(k)
    raise ValueError(
        f"k is {description}; expected a non-negative integer, or a LongTensor of shape {tuple(batch_shape)} on "
        f"{scores.device}{more}"
    )


def omissions(omitted: Tensor | None, scores: Tensor) -> Tensor:
    """Return the scores of leaving items out, with the batch axes of ``scores``, of size 1 if shared.

    Raises:
        ValueError: If their type or shape does not fit.
    """
    shape = (*(1,) * (scores.dim() - 1), scores.shape[-1])
    if omitted is None:
        return scores.new_zeros(shape)
    arguments.scores("omitted", omitted, "batch + (n,) or (n,)", 1)
    shared = omitted.reshape(*shape[:-1], omitted.shape[0]) if omitted.dim() == 1 else omitted
    if shared.shape not in (scores.shape, shape):
        raise ValueError(
            f"omitted has shape {tuple(omitted.shape)}, which does not fit the scores of shape "
            f"{tuple(scores.shape)}; expected the same shape, or ({scores.shape[-1]},)"
        )
    return shared
