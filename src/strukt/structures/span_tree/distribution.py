"""Constituency trees: binary trees over the spans of a sentence, with or without labels."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths, as_tensor
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.places import Places
from strukt.structures.span_tree.reference import REFERENCE, max_marginals
from strukt.structures.spans import SpanStructure


class SpanTree(SpanStructure):
    """Binary trees whose score is the sum of the scores of their spans (Stern et al. 2017).

    Args:
        spans: ``batch + (n + 1, n + 1)``, or with c labels ``batch + (n + 1, n + 1, c)``; ``[i, j]`` scores the
            span from fencepost i (before word i, counted from 0) to j > i, single words included. -inf forbids a
            span or a label; NaN and +inf are errors, also in the other entries, which otherwise have no effect.
        lengths: ``batch``, in words; all n if None.
        labelled: Whether the last axis of ``spans`` holds labels; None to infer that from the shapes. If the last
            three axes have the same size and there are no lengths, None is an error.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n + 1, n + 1)``: the label of each span of the tree (0 without labels), -1 elsewhere.
    Sums and maxima take O(n^3 + n^2 c) time per item (`sample`, and `topk` on CPUs, add O(n^2 + n c) per tree;
    ``topk(k)`` takes k^2 times as long as `mode` in the PyTorch reference).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> import torch
        >>> trees = SpanTree(torch.zeros(5, 5))
        >>> trees.log_count.exp().round()
        tensor(5.)
        >>> spans = torch.zeros(4, 4, 2)
        >>> spans[0, 2] = torch.tensor([1.0, 2.0])
        >>> SpanTree(spans).mode[0, 2], SpanTree(spans).marginals[0, 2]
        (tensor(1), tensor([0.2245, 0.6103]))
    """

    oracles = TableOracles(
        __package__, scores=("spans",), options=("labelled",), reference=REFERENCE, event_dim=2
    )
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("spans",)

    def __init__(
        self,
        spans: Tensor,
        lengths: Lengths | None = None,
        labelled: bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("spans", spans, "batch + (n + 1, n + 1) or batch + (n + 1, n + 1, c)", 2)
        labelled = arguments.boolean("labelled", _has_labels(spans, lengths) if labelled is None else labelled)
        fenceposts = spans.shape[-3:-1] if labelled else spans.shape[-2:]
        if len(fenceposts) < 2 or fenceposts[0] != fenceposts[1] or fenceposts[0] == 0:
            raise ValueError(
                f"spans has shape {tuple(spans.shape)}; expected batch + (n + 1, n + 1), a row and a column for "
                "each place between words and at both ends, or with labels batch + (n + 1, n + 1, c)"
            )
        if labelled and not spans.shape[-1]:
            raise ValueError(
                f"spans has shape {tuple(spans.shape)}: no labels to choose from; expected c >= 1"
            )
        self.labelled = labelled
        self.extents = ([1, 1, UNBOUNDED] if labelled else [1, 1],)
        super().__init__((spans,), lengths, (labelled,), validate_args)

    def _places(self, event: Tensor) -> Places:
        return (self._places_of_spans(event),)


def _has_labels(spans: Tensor, lengths: Lengths | None) -> bool:
    """Infer from the shapes whether the last axis of ``spans`` holds labels.

    Raises:
        ValueError: If both readings are possible, and there are no lengths to decide.
    """
    if spans.dim() < 3 or spans.shape[-2] != spans.shape[-3]:
        return False
    if spans.shape[-1] != spans.shape[-2]:
        return True
    if lengths is not None:
        axes: int = as_tensor(lengths, "lengths").dim()
        return axes == spans.dim() - 3
    raise ValueError(
        f"spans has shape {tuple(spans.shape)}, which may be spans with labels or a batch without: say "
        "labelled=True or labelled=False"
    )
