"""Lexicalised trees: constituents with head words, so constituents and dependencies in one structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.kernels.places import Places
from strukt.structures import events
from strukt.structures.explanations import lexicalised as explanations
from strukt.structures.lexicalised_tree import eisner_satta
from strukt.structures.spans import SpanStructure


class LexicalisedTree(SpanStructure):
    """Binary trees over spans, each with a head word, scored by spans and arcs (Eisner and Satta 1999).

    The head of a span is that of one of its two children; the head of the other child depends on it. So a tree is
    a bracketing together with a compatible projective dependency tree.

    Args:
        spans: ``batch + (n + 1, n + 1)``, the score of the span from fencepost i (before word i, counted from
            0) to j with any head; or ``batch + (n + 1, n + 1, n)``, for each head, word h at ``[i, j, h]``.
            Entries without i <= h < j have no effect, but must not be NaN or +inf.
        arcs: ``batch + (n, n + 1)``, or ``(n, n + 1)`` for all items; ``[m, h]`` scores head h for word m + 1, and
            h = 0 is the root, as for `ProjectiveTree`.
        lengths: ``batch``; all n if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n + 1, n + 1)``: the head of each span of the tree, a word counted from 0, and -1
    elsewhere; `heads` returns the head of each word. Sums and maxima take O(n^4) time and O(n^3) memory per item.
    The parts of a tree are its spans with their heads: `marginals` are of these, `arc_marginals` of arcs.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> arcs = torch.zeros(3, 4)
        >>> arcs[0, 2] = arcs[2, 2] = 2.0  # words 1 and 3 below word 2
        >>> trees = LexicalisedTree(torch.zeros(4, 4), arcs)
        >>> trees.log_count.exp().round()
        tensor(8.)
        >>> trees.heads(trees.mode)
        tensor([2, 0, 2])
        >>> trees.arc_marginals[2, 2].round(decimals=4)
        tensor(0.9110)
    """

    oracles = TableOracles(
        __package__,
        scores=("spans", "arcs"),
        options=(),
        reference=TableProgram(eisner_satta.build, axes=(3, 2)),
        event_dim=2,
    )
    score_names: ClassVar[tuple[str, ...]] = ("spans", "arcs")
    extents = ([1, 1, 0], [0, 1])

    def __init__(
        self,
        spans: Tensor,
        arcs: Tensor,
        lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("arcs", arcs, "batch + (n, n + 1)", 2)
        arguments.scores("spans", spans, "batch + (n + 1, n + 1) or batch + (n + 1, n + 1, n)", 2)
        n = arcs.shape[-2]
        if spans.shape[-2:] == (n + 1, n + 1) and arcs.dim() in (2, spans.dim()):
            spans = spans.unsqueeze(-1).expand(*spans.shape, n)
        if spans.shape[-3:] != (n + 1, n + 1, n):
            raise ValueError(
                f"spans has shape {tuple(spans.shape)}, and arcs {tuple(arcs.shape)}; for {n} words, expected "
                f"spans batch + {(n + 1, n + 1)}, or with a score for each head batch + {(n + 1, n + 1, n)}"
            )
        arcs = arguments.batched("arcs", arcs, spans.shape[:-3], (n, n + 1))
        super().__init__((spans, arcs), lengths, (), validate_args)

    @property
    def arc_marginals(self) -> Tensor:
        """The probability of each arc, with the indices of ``arcs``: ``batch + (n, n + 1)``; differentiable."""
        return self._marginals_beside(*self.scores[1].shape[-2:])

    def heads(self, event: Tensor) -> Tensor:
        """Return the head of each word, 0 for the root: ``sample_shape + batch + (n,)``; -1 in the padding.

        Events are not checked to be trees. Time and memory O(n^2) per tree.

        Args:
            event: ``sample_shape + batch + (n + 1, n + 1)``.

        Raises:
            ValueError: If the events are not integers, or have the wrong shape.
        """
        return self._apply(_heads, arguments.event(event, self.batch_shape, self.event_shape), axes=2)  # type: ignore[no-any-return]

    def _are_structures(self, event: Tensor) -> Tensor:
        fits: Tensor = self._apply(_pass_heads_on, event, axes=2)
        return super()._are_structures(event) & fits

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return super()._fault(event, length, constants) or explanations.headless(event, length)

    def _places(self, event: Tensor) -> Places:
        heads = self._apply(_heads, event, axes=2)
        n = self.event_shape[0] - 1
        first = torch.arange(n, device=heads.device) * (n + 1)
        return self._places_of_spans(event), torch.where(heads >= 0, first + heads, -1)

    def _labelling_count(self, words: int, inner: int) -> int:
        return 1 << inner

    def _labellings(self, tree: Sequence[tuple[int, int]]) -> list[dict[tuple[int, int], int]]:
        return _ways_to_head(tree)


def _ways_to_head(tree: Sequence[tuple[int, int]]) -> list[dict[tuple[int, int], int]]:
    """Return all assignments of heads to the spans (start, end) of a tree, which are given in pre-order."""
    if not tree:
        return [{}]
    (start, end), *rest = tree
    if end == start + 1:
        return [{(start, end): start}]
    size = next(place for place, (first, last) in enumerate(rest) if last == end and first > start)
    result = []
    for left in _ways_to_head(rest[:size]):
        for right in _ways_to_head(rest[size:]):
            below = left | right
            result += [{(start, end): below[part]} | below for part in (rest[0], rest[size])]
    return result


def _spans_of_words(event: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Read the spans of trees ``event (rows, n + 1, n + 1)``, up to 2 n in each row, and the words in them.

    Returns:
        The heads of the spans, ``(rows, 2 n)``, -1 after the last; their widths, ``(rows, 2 n)``, 0 after the
        last; a mask of the words in each, ``(rows, 2 n, n)``; and the width of the widest span that each word
        heads, ``(rows, n)``, 0 if it heads none.
    """
    n = event.shape[-1] - 1
    places, heads, _ = events.read_spans(event, lengths, range(n), range(n))
    start, end = places // (n + 1), places % (n + 1)
    word = torch.arange(n, device=event.device)
    used = places >= 0
    contains = used.unsqueeze(-1) & (start.unsqueeze(-1) <= word) & (word < end.unsqueeze(-1))
    width = torch.where(used, end - start, 0)
    headed = used.unsqueeze(-1) & (heads.unsqueeze(-1) == word)
    widest = torch.where(headed, width.unsqueeze(-1), 0).amax(-2) if n else width[:, :0]
    return torch.where(used, heads, -1), width, contains, widest


def _heads(event: Tensor, lengths: Tensor) -> Tensor:
    """Return the head of each word, ``(rows, n)``, 0 for the root, -1 in the padding.

    It is the head of the narrowest span that is wider than all spans that the word heads, and contains the word.
    """
    heads, width, contains, widest = _spans_of_words(event, lengths)
    n = widest.shape[-1]
    if not n:
        return widest
    around = contains & (width.unsqueeze(-1) > widest.unsqueeze(-2))
    narrowest = torch.where(around, width.unsqueeze(-1), n + 1).min(-2)
    above = heads.gather(-1, narrowest.indices) + 1
    result = torch.where(narrowest.values <= n, above, 0)
    return torch.where(events.within(lengths, n), result, -1)


def _pass_heads_on(event: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of trees in which the head of each span is the head of one of its children.

    In these, a word heads all spans that contain it, from itself up to the widest one that it heads.
    """
    heads, width, contains, widest = _spans_of_words(event, lengths)
    word = torch.arange(widest.shape[-1], device=event.device)
    below = contains & (width.unsqueeze(-1) <= widest.unsqueeze(-2))
    headed = heads.unsqueeze(-1) == word
    return (below == headed).flatten(1).all(-1)
