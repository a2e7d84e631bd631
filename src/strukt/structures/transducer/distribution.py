"""Transducers (RNN-T): alignments of frames with a target, in which a frame emits any number of labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

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
from strukt.structures.events import shifted
from strukt.structures.explanations import paths
from strukt.structures.grid_paths import GridPaths
from strukt.structures.monotone_alignment.grid import any_before
from strukt.structures.transducer.emissions import are_emissions, frames_of_labels, moves_of_labels
from strukt.structures.transducer.reference import REFERENCE, used

MOST_CANDIDATES = 1 << 18
"""The most paths that `enumerate_support` lists."""


class Transducer(GridPaths):
    """The RNN transducer (RNN-T): paths through nodes (t, u), frame t after u labels of a target (Graves 2012).

    A path begins at (0, 0). A blank (move 0) leads from (t, u) to (t + 1, u), and the next label (move 1) to
    (t, u + 1), so that a frame emits any number of labels. The path ends with a blank out of the last frame, after
    all m labels. Without frames there is one empty path for an empty target, and none for others.

    Args:
        moves: ``batch + (n, m + 1, 2)``, the score of the blank and of the label out of each node. The score of a
            label at u = m is not used: the target has no further label. `from_logits` builds them from the scores
            of all labels.
        lengths: ``batch``, in frames; all n if None.
        target_lengths: ``batch``, in labels; all m if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n, m + 1)``: the move out of each visited node, -1 elsewhere; parts and marginals are
    ``batch + (n, m + 1, 2)``. Sums and maxima over paths take O(n m) time per item; ``topk(k)`` also compares
    O(k (n + m)) paths, each of which leaves a better one at one node (the PyTorch reference takes O(n (n + m))
    time, and for `topk` k^2 times that).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> transducer = Transducer(torch.zeros(3, 3, 2))
        >>> transducer.log_count.exp().round()
        tensor(6.)
        >>> transducer.visits  # the probability that the path visits each node
        tensor([[1.0000, 0.5000, 0.1667],
                [0.5000, 0.6667, 0.5000],
                [0.1667, 0.5000, 1.0000]])
        >>> transducer.frames(torch.tensor([[1, 0, -1], [-1, 0, -1], [-1, 1, 0]]))
        tensor([0, 2])
    """

    oracles = TableOracles(
        __package__,
        scores=("moves",),
        options=(),
        reference=REFERENCE,
        event_dim=2,
        constants=("target_lengths",),
    )
    score_names: ClassVar[tuple[str, ...]] = ("moves",)
    constant_names: ClassVar[tuple[str, ...]] = ("target_lengths",)
    moves: ClassVar[tuple[str, ...]] = ("blank", "label")
    extents = ([0, UNBOUNDED, UNBOUNDED],)

    def __init__(
        self,
        moves: Tensor,
        lengths: Lengths | None = None,
        target_lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("moves", moves, "batch + (n, m + 1, 2)", 3)
        if moves.shape[-1] != 2 or not moves.shape[-2]:
            raise ValueError(
                f"moves has shape {tuple(moves.shape)}; expected batch + (n, m + 1, 2), the scores of the blank "
                "and of the next label on the last axis; Transducer.from_logits takes the scores of all labels"
            )
        super().__init__((moves,), moves.shape[-2] - 1, lengths, target_lengths, validate_args)

    @classmethod
    def from_logits(
        cls,
        logits: Tensor,
        targets: Tensor,
        lengths: Lengths | None = None,
        target_lengths: Lengths | None = None,
        blank: int = 0,
        validate_args: bool | None = None,
    ) -> Self:
        """Build a transducer from the scores of all labels at each node, such as those of a joint network.

        Args:
            logits: ``batch + (n, m + 1, c)``, normalised by ``log_softmax`` or not.
            targets: ``batch + (m,)``, integers from 0 to c - 1 other than the blank.
            lengths: ``batch``, in frames; all n if None.
            target_lengths: ``batch``, in labels; all m if None. Padding is ignored.
            blank: The blank label, which moves on to the next frame.
            validate_args: As for the constructor.

        Raises:
            ValueError: If shapes, types or values do not fit.

        Examples:
            >>> logits = torch.zeros(2, 2, 3).log_softmax(-1)
            >>> Transducer.from_logits(logits, torch.tensor([2])).log_partition.exp()  # 2 paths of 3 moves
            tensor(0.0741)
        """
        arguments.scores("logits", logits, "batch + (n, m + 1, c)", 3)
        moves = moves_of_labels(logits, targets, target_lengths, blank, validate_args)
        return cls(moves, lengths, target_lengths, validate_args)

    def frames(self, event: Tensor | None = None) -> Tensor:
        """Return the frame at which each label is emitted, ``sample_shape + batch + (m,)``; padded with -1.

        Args:
            event: Moves, ``sample_shape + batch + (n, m + 1)``; those of the mode if None.

        Raises:
            ValueError: If an event has a wrong shape or type, or (with ``validate_args``) is not a path.
            InfeasibleError: If ``event`` is None and every path of some item is forbidden.
        """
        return frames_of_labels(self.mode if event is None else self._checked(event))

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._apply(are_emissions, event, self.target_lengths, axes=2)  # type: ignore[no-any-return]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return paths.emissions(event, length, constants[0])

    @property
    def _within(self) -> Tensor:
        return events.cells_within(self.event_shape, self.lengths, self.target_lengths + 1)

    @property
    def _parts_within(self) -> Tensor:
        return used(self.event_shape, self.lengths, self.target_lengths)

    def _places(self, event: Tensor) -> Places:
        return (self._apply(_places, event, self.target_lengths, axes=2),)

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        (moves,), (target_lengths,) = scores, constants
        return type(self)(moves, lengths, target_lengths, validate_args=False)

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Forbid the other move out of a required node, and all moves out of nodes that no path shares with it.

        A path has one node of each diagonal, so it bypasses a node if it has one above and to the right of it, or
        below and to the left.
        """
        required = required & self._within.unsqueeze(-1)
        nodes = required.any(-1)
        others = nodes.unsqueeze(-1) & (~required | (required.sum(-1, keepdim=True) > 1))
        above_right = shifted(any_before(nodes, rows=False, columns=True), 1, -1)
        below_left = shifted(any_before(nodes, rows=True, columns=False), -1, 1)
        passing = (above_right | below_left).unsqueeze(-1)
        return (self.scores[0].masked_fill(others | passing, NEG_INF),)

    def _candidates(self) -> Tensor:
        n, columns = self.event_shape
        count = int(self.target_lengths.flatten()[0])
        if math.comb(n + count, n) > MOST_CANDIDATES:
            raise ValueError(f"the paths through {n} frames and {count} labels are too many to enumerate")
        frames = [*itertools.combinations_with_replacement(range(n), count)]
        rows = torch.full((len(frames), n, columns), -1, dtype=torch.int64)
        for row, emitted in zip(rows, frames, strict=True):
            for u, t in enumerate(emitted):
                row[t, u] = 1
            for t in range(n):
                row[t, sum(frame <= t for frame in emitted)] = 0
        return rows.to(self.scores[0].device)


def _places(event: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return the places of the moves ``(rows, n, m + 1)``: indices into an item's flattened scores, -1 for none.

    The result is ``(rows, n (m + 1))``.
    """
    visited = events.cells_within(event.shape[-2:], lengths, target_lengths + 1) & (event >= 0)
    n, columns = event.shape[-2:]
    node = torch.arange(n * columns, device=event.device).view(n, columns)
    return torch.where(visited, 2 * node + event.clamp(max=1), -1).flatten(-2)
