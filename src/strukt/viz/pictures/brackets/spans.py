"""The horizontal positions of words and of the brackets over them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from strukt.viz.pictures.brackets.picture import Bracket


class Spans:
    """A horizontal strip for each word; strips are wide enough for their words, and together for labels over them.

    A label is centred over the words of its bracket. It then touches no other label, and its centre is between
    those of the first and the last part of the bracket.

    Args:
        words: The width of each word, in columns or pixels.
        brackets: The brackets in the order of a `BracketDiagram`, outer ones first.
        labels: The width of the label of each bracket.
        gap: The distance between neighbours.

    Complexity:
        O(words + the sum of the lengths of the brackets).

    Examples:
        >>> spans = Spans([3, 3, 5], [Bracket("NP", 0, 2)], [12], gap=2)
        >>> spans.extent(0, 2), spans.extent(2, 3), spans.width
        ((0, 12), (14, 19), 19)
    """

    def __init__(
        self, words: Sequence[int], brackets: Sequence[Bracket], labels: Sequence[int], gap: int
    ) -> None:
        widths = list(words)
        for bracket, needed in zip(reversed(brackets), reversed(labels), strict=True):  # inner ones first
            covered = range(bracket.start, bracket.end)
            missing = needed - sum(widths[bracket.start : bracket.end]) - gap * (len(covered) - 1)
            share, rest = divmod(max(missing, 0), len(covered))
            for word in covered:
                widths[word] += share + (word - bracket.start < rest)
        self._gap = gap
        self._starts = list(accumulate((width + gap for width in widths), initial=0))
        self.width = max(self._starts[-1] - gap, 0)

    def extent(self, start: int, end: int) -> tuple[int, int]:
        """Return the first column of the words from `start` to `end` - 1, and the column after their last one."""
        return self._starts[start], self._starts[end] - self._gap
