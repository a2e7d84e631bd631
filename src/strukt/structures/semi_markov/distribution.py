"""The semi-Markov conditional random field (CRF): segmentations into labelled segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.guards import ONWARD, UNBOUNDED
from strukt.checks.lengths import Lengths, as_tensor
from strukt.kernels.arrays import Array
from strukt.kernels.dynamic_program import used_alternatives
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.places import Places
from strukt.kernels.semiring import NEG_INF
from strukt.structures import events, sparse
from strukt.structures.distribution import StructuredDistribution
from strukt.structures.explanations import sequences
from strukt.structures.semi_markov.reference import REFERENCE, max_marginals

MOST_CANDIDATES = 1 << 22
"""The most events that `enumerate_support` tries."""


class SemiMarkov(StructuredDistribution):
    """Segmentations scored by each segment and each pair of neighbours (Sarawagi and Cohen 2004).

    Args:
        segments: ``batch + (n, k, c)`` for n positions, segments of up to k positions, and c labels; ``[t, d, j]``
            scores a segment that starts at position t, has d + 1 positions and label j. Segments that extend past
            the length are ignored.
        transition: ``[i, j]`` scores a segment of label i followed by one of label j, which may be the same label.
            Shared ``(c, c)``, one for each item ``batch + (c, c)``, or one for each position
            ``batch + (n - 1, c, c)``: as in `LinearChain`, ``[t]`` leads from position t to t + 1, from a segment
            that ends at t to one that starts at t + 1. ``(1, 1)`` in place of ``(c, c)`` is one number for all
            pairs of labels, and an axis of ``batch`` may be 1. If None, all these scores are 0.
        lengths: ``batch``; all n if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n,)``: the label of each segment at its first position, -1 elsewhere. Segments cover the
    sequence without gaps. Sums and maxima take O(n k c + n c^2) time per item, without transitions O(n k c). For
    each structure, `topk` also compares O(n (k + c)) segmentations that leave it at one segment (the PyTorch
    reference takes m^2 times the time of the mode for m structures), and `sample` adds O(n (k + c)) time.
    `log_partition` stores O(n c) numbers for its gradient; while it runs, it also holds a copy of the transitions
    in float64.

    Raises:
        ValueError: If shapes, types or values do not fit; or if only ``segments`` is given, with a shape that may
            mean scores ``batch + (n, k, c, c)`` of pairs of labels, as in torch-struct.

    Examples:
        >>> segments = torch.zeros(3, 2, 2)
        >>> segments[1, 1, 0] = 2.0
        >>> segmentation = SemiMarkov(segments, torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
        >>> segmentation.mode
        tensor([ 1,  0, -1])
        >>> segmentation.log_prob(segmentation.mode).exp()
        tensor(0.4012)
        >>> segmentation.marginals[1, 1]
        tensor([0.5488, 0.0399])
    """

    oracles = TableOracles(__package__, scores=("segments", "transition"), options=(), reference=REFERENCE)
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("segments", "transition")

    def __init__(
        self,
        segments: Tensor,
        transition: Tensor | None = None,
        lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("segments", segments, "batch + (n, k, c)", 3)
        if not segments.shape[-2] or not segments.shape[-1]:
            raise ValueError(
                f"segments has shape {tuple(segments.shape)}: no durations or no labels to choose from; expected "
                "batch + (n, k, c) with k >= 1 and c >= 1"
            )
        lengths_tensor: Tensor | None = as_tensor(lengths, "lengths")
        if transition is None:
            _require_no_pairs(segments, lengths_tensor)
            transition = segments.new_zeros(1, 1)
        transition = _fitting(segments, transition)
        self._per_position = transition.dim() == segments.dim()
        steps = [-1] if self._per_position else []
        self.extents = ([0, ONWARD, UNBOUNDED], [*steps, UNBOUNDED, UNBOUNDED])
        super().__init__((segments, transition), lengths_tensor, (), validate_args)

    @property
    def transition_marginals(self) -> Tensor:
        """The expected number of each pair of neighbouring labels: ``batch + (c, c)``; differentiable.

        With transition scores for each position, the probability of each pair there: ``batch + (n - 1, c, c)``.
        """
        c = self.scores[0].shape[-1]
        return self._marginals_beside(*self.scores[1].shape[len(self.batch_shape) : -2], c, c)

    def cross_entropy(self, other: Self) -> Tensor:
        if isinstance(other, SemiMarkov) and other._per_position != self._per_position:
            return super(SemiMarkov, self._at_each_boundary()).cross_entropy(other._at_each_boundary())
        return super().cross_entropy(other)

    def _at_each_boundary(self) -> Self:
        """Return the same distribution with transition scores for each position."""
        segments, transition = self.scores
        if self._per_position:
            return self
        steps = max(segments.shape[-3] - 1, 0)
        *batch, rows, columns = transition.shape
        return self._with_scores(segments, transition.unsqueeze(-3).expand(*batch, steps, rows, columns))

    def _events_of_parts(self, parts: Array, sizes: Array) -> Tensor:
        k, c = self.scores[0].shape[-2:]
        return sparse.events_of_parts(parts, sizes, self.event_shape, k * c, c)

    def to_parts(self, event: Tensor) -> Tensor:
        main = self.scores[0]
        k, c = main.shape[-2:]
        event = arguments.event(event, self.batch_shape, self.event_shape)
        durations = events.durations(event, self.lengths)
        if self._validate_args:
            valid = ((event < c) | ~self._positions) & (durations <= k)
            guards.require_structures(
                event, valid.all(-1), f"made of labels 0 to {c - 1} and segments of at most {k} positions"
            )
        labels = torch.arange(c, device=main.device)
        lasting = durations.unsqueeze(-1) == torch.arange(1, k + 1, device=main.device)
        return (lasting.unsqueeze(-1) & (event.unsqueeze(-1) == labels).unsqueeze(-2)).to(main.dtype)

    def _from_parts(self, parts: Tensor) -> Tensor:
        return used_alternatives(parts.amax(-2))

    def _are_structures(self, event: Tensor) -> Tensor:
        k, c = self.scores[0].shape[-2:]
        return self._apply(events.are_segmentations, event, k, c, axes=1)  # type: ignore[no-any-return]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return sequences.segmentation(event, length, *self.scores[0].shape[-2:])

    @property
    def _positions(self) -> Tensor:
        """A mask of the positions within the lengths: ``batch + (n,)``."""
        return events.within(self.lengths, self.event_shape[0])

    @property
    def _last(self) -> Tensor:
        """The last position of each segment, ``(n, k)``: t + d at ``[t, d]``, clipped to n - 1."""
        n, k = self.scores[0].shape[-3:-1]
        starts, durations = (torch.arange(size, device=self.lengths.device) for size in (n, k))
        return (starts[:, None] + durations).clamp(max=n - 1)

    def _places(self, event: Tensor) -> Places:
        options = (*self.scores[0].shape[-2:], self.scores[1].shape[-1], self._per_position)
        return self._apply(events.segment_places, event, *options, axes=1)  # type: ignore[no-any-return]

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Forbid all segments that overlap a required one, or have its start and duration but another label."""
        main, *others = self.scores
        required = required & ~self._beyond
        count = required.sum(-1)
        first = count.sum(-1)
        ends = self._last.flatten().expand(*first.shape[:-1], -1)
        last = torch.zeros_like(first).scatter_add(-1, ends, count.flatten(-2))
        # Required segments that start before a segment ends, minus those that end before it starts.
        before = last.cumsum(-1) - last
        overlapping = first.cumsum(-1)[..., self._last] - before.unsqueeze(-1)
        excluded = overlapping.unsqueeze(-1) > required.long()
        return main.masked_fill(excluded, NEG_INF), *others

    def _is_named(self, event: Tensor) -> Tensor:
        return ((event >= -1) & (event < self.scores[0].shape[-1])) | ~self._positions

    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        known = known & self._positions
        labels = torch.arange(self.scores[0].shape[-1], device=event.device)
        wrong = known.unsqueeze(-1) & (event.unsqueeze(-1) != labels)
        starts = (known & (event >= 0)).cumsum(-1)
        inside = starts[..., self._last] > starts.unsqueeze(-1)
        return self.condition(forbidden=wrong.unsqueeze(-2) | inside.unsqueeze(-1))

    @property
    def _beyond(self) -> Tensor:
        """A mask of the segments that extend past the lengths: ``batch + (n, k, 1)``."""
        n, k = self.scores[0].shape[-3:-1]
        shape = torch.Size([n, k, 1])
        flat = guards.within(self.lengths.reshape(self._batch_size()), shape, self.extents[0])
        return ~self._to_batch(flat)

    def _candidates(self) -> Tensor:
        n, _, c = self.scores[0].shape[-3:]
        if (c + 1) ** n > MOST_CANDIDATES:
            raise ValueError(f"{c + 1} to the power of {n} events are too many to enumerate")
        axis = torch.arange(-1, c, device=self.scores[0].device)
        return torch.cartesian_prod(*[axis] * n).reshape(-1, n) if n else axis.new_zeros(1, 0)


def _require_no_pairs(segments: Tensor, lengths: Tensor | None) -> None:
    """Check that segments ``batch + (n, k, c)`` are not scores of pairs of labels, ``batch + (n, k, c, c)``.

    Raises:
        ValueError: If they may be: there are 5 axes or more, the last two are equal, and no lengths tell the
            number of batch axes.
    """
    if segments.dim() < 5 or segments.shape[-1] != segments.shape[-2]:
        return
    batch = segments.shape[:-3]
    if lengths is None or (isinstance(lengths, Tensor) and lengths.dim() == len(batch) - 1):
        raise ValueError(
            f"segments has shape {tuple(segments.shape)}, which may be batch + (n, k, c), or batch + (n, k, c, c) "
            "with a score for each pair of labels, as in torch-struct. For the first, give lengths of shape "
            f"{tuple(batch)}; for the second, segments batch + (n, k, c) and transition batch + (n - 1, c, c)"
        )


def _fitting(segments: Tensor, transition: Tensor) -> Tensor:
    """Return transition scores with all batch axes, of size 1 if shared: ``(*, c, c)`` or ``(*, n - 1, c, c)``.

    Raises:
        ValueError: If they do not fit the segments.
    """
    arguments.not_lengths("transition", transition, "segments", "SemiMarkov", "(c, c)")
    arguments.scores("transition", transition, "(c, c), batch + (c, c) or batch + (n - 1, c, c)", 2)
    *batch, n, _, c = segments.shape
    original, steps = transition, max(n - 1, 0)
    if transition.dim() == 2:
        transition = transition.view(*(1,) * len(batch), *transition.shape)
    *batched, rows, columns = transition.shape
    boundaries = batched.pop() if transition.dim() == segments.dim() else steps
    fits = len(batched) == len(batch) and boundaries == steps and (rows, columns) in ((c, c), (1, 1))
    if fits and all(have in (1, want) for have, want in zip(batched, batch, strict=True)):
        return transition
    raise ValueError(
        f"transition has shape {tuple(original.shape)}, which does not fit segments of shape "
        f"{tuple(segments.shape)}; expected {arguments.any_of((c, c), (*batch, c, c), (*batch, steps, c, c))}, "
        f"with 1 for an axis of the batch if all items share it, or (1, 1) in place of ({c}, {c}) for all pairs "
        "alike"
    )
