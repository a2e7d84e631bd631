"""Connectionist temporal classification (CTC): a distribution over labellings that collapse to a given target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.engine.oracles import TableOracles
from strukt.structures import events
from strukt.structures.ctc.reference import REFERENCE, max_marginals
from strukt.structures.ctc.spans import LabelSpans, label_spans
from strukt.structures.ctc.states import states_of
from strukt.structures.explanations import sequences
from strukt.structures.positional import PositionalStructure


class CTC(PositionalStructure):
    """Labellings of frames that collapse to a target: merge repeats, then drop blanks (Graves et al. 2006).

    Args:
        logits: ``batch + (n, c)``, the score of each of c labels at each of n frames, normalised or not.
        targets: ``batch + (m,)`` for up to m labels, integers from 0 to c - 1 other than the blank.
        lengths: ``batch``, in frames; all n if None.
        target_lengths: ``batch``, in labels; all m if None. Padding is ignored.
        blank: The blank label.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are labels of frames ``batch + (n,)``, blanks included, -1 in the padding; the mode is the forced
    alignment. A target has no labelling if the frames are fewer than its labels plus its pairs of equal
    neighbours. With logits from ``log_softmax`` the log-partition is the log-probability of the target, the
    negated ``torch.nn.functional.ctc_loss``. Sums and maxima take O(n (m + c)) time per item; ``topk(k)`` also
    compares O(k n) alignments, each of which leaves a better one at one frame (the PyTorch reference takes k^2
    times as long as for the mode); `sample` adds O(n) per sample.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> import torch
        >>> ctc = CTC(torch.zeros(3, 4), torch.tensor([1, 2]))
        >>> ctc.log_count.exp().round()
        tensor(5.)
        >>> ctc.enumerate_support().tolist()
        [[0, 1, 2], [1, 0, 2], [1, 1, 2], [1, 2, 0], [1, 2, 2]]
        >>> ctc.marginals[1]
        tensor([0.2000, 0.4000, 0.4000, 0.0000])
    """

    oracles = TableOracles(
        __package__, scores=("logits",), options=(), reference=REFERENCE, constants=("states", "target_lengths")
    )
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("logits",)
    constant_names: ClassVar[tuple[str, ...]] = ("targets", "target_lengths")

    def __init__(
        self,
        logits: Tensor,
        targets: Tensor,
        lengths: Lengths | None = None,
        target_lengths: Lengths | None = None,
        blank: int = 0,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("logits", logits, "batch + (n, c)", 2)
        batch_shape, labels = logits.shape[:-2], logits.shape[-1]
        arguments.blank(blank, labels)
        arguments.integers("targets", targets, "batch + (m,)", logits.device)
        if targets.shape[:-1] != batch_shape or not targets.dim():
            raise ValueError(
                f"targets has shape {tuple(targets.shape)}; expected {(*batch_shape, 'm')}, labels for each item"
            )
        check = validate_args is not False
        target_lengths = arguments.lengths(
            target_lengths, batch_shape, targets.shape[-1], logits.device, "target_lengths", check
        )
        self.blank = blank
        self.extents = ([0, UNBOUNDED],)
        # Always check on the CPU: compiled kernels use the labels as indices, without bounds checks.
        states = states_of(targets, target_lengths, blank, labels, check or logits.is_cpu)
        super().__init__((logits,), lengths, (), validate_args, (states, target_lengths))

    @property
    def targets(self) -> Tensor:
        """The target of each item, ``batch + (m,)``; blanks in the padding."""
        return self.constants[0][..., 1::2]

    @property
    def target_lengths(self) -> Tensor:
        """The number of labels of each target, ``batch``."""
        return self.constants[1]

    def spans(self, event: Tensor | None = None) -> LabelSpans:
        """Return the frames of each label of the target: its first frame, and the frame after its last.

        Args:
            event: Labels of frames, ``sample_shape + batch + (n,)``; those of the mode if None.

        Returns:
            The spans ``sample_shape + batch + (m,)`` in the order of the targets, padded with -1; and the mean
            score of each label over its frames, padded with 0.

        Raises:
            ValueError: If an event has a wrong shape or type, or (with ``validate_args``) does not collapse to the
                target.
            InfeasibleError: If ``event`` is None and some item has no labelling, because its target does not fit
                into its frames, or all labellings are forbidden.

        Examples:
            >>> import torch
            >>> frames = torch.tensor([0, 2, 2, 0, 2, 1])
            >>> ctc = CTC(torch.nn.functional.one_hot(frames).float(), torch.tensor([2, 2, 1]))
            >>> ctc.spans().starts, ctc.spans().ends
            (tensor([1, 4, 5]), tensor([3, 5, 6]))
        """
        event = self.mode if event is None else self._checked(event)
        event = event.expand(arguments.broadcast_shapes(event.shape, self.batch_shape + self.event_shape))
        return label_spans(event, self.scores[0], self.lengths, self.blank, self.targets.shape[-1])

    def _are_structures(self, event: Tensor) -> Tensor:
        options = (*self.constants, self.blank, self.scores[0].shape[-1])
        return self._apply(events.are_frames, event, *options, axes=1)  # type: ignore[no-any-return]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        states, target_length = constants
        target = states[1::2][:target_length]
        return sequences.frames(event, length, self.scores[0].shape[-1], self.blank, target)

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        (logits,), (states, target_lengths) = scores, constants
        return type(self)(logits, states[..., 1::2], lengths, target_lengths, self.blank, validate_args=False)
