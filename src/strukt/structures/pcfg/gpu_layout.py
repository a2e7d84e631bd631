"""The sizes of a batch of sentences on GPUs, and where matrices lie in its charts and workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from strukt.kernels.autograd import Scores

Numbers = tuple[Tensor, ...]
"""Mantissas and exponents, or scores: tensors of one shape."""

PART = 512
"""The number of pairs of children, at least, whose sums over rules are one part."""

MOST_PARTS = 16


class Matrices(NamedTuple):
    """The matrices of all items and starts; entry (r, k) is at item ... + start ... + first + r row + k step.

    Attributes:
        numbers: The memory.
        item, start: The distances of the matrices of neighbouring items, and of neighbouring starts in an item.
        first: The place of the first entry.
        row, step: The distances of neighbouring rows and columns.
    """

    numbers: Numbers
    item: int
    start: int
    first: int
    row: int
    step: int

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of a kernel."""
        return (*self.numbers, *self[1:])


class Sides(NamedTuple):
    """Rows of numbers beside words, and the matrices of rules with these words, for the spans of a width.

    Attributes:
        left: The numbers on the left of a word, in outside passes those of parents.
        ending: The rules that this word ends.
        left_depth: The number of numbers.
        right, starting, right_depth: The same for a word on the other side.
    """

    left: Matrices
    ending: Matrices
    left_depth: int
    right: Matrices
    starting: Matrices
    right_depth: int

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of a kernel."""
        left, right = (*self.left.arguments(), *self.ending.arguments()), self.right.arguments()
        return *left, self.left_depth, *right, *self.starting.arguments(), self.right_depth


@dataclass(frozen=True)
class Sizes:
    """The sizes of a batch.

    Attributes:
        batch: The number of items.
        groups: The number of grammars; consecutive items share one.
        n: The number of words.
        s: The number of nonterminals.
        p: The number of preterminals.
    """

    batch: int
    groups: int
    n: int
    s: int
    p: int

    @property
    def sharing(self) -> int:
        """The number of items with one grammar."""
        return self.batch // self.groups

    @property
    def parts(self) -> int:
        """The number of parts of sums over pairs of nonterminals."""
        return max(1, min(MOST_PARTS, self.s * self.s // PART))

    @property
    def part(self) -> int:
        """The number of pairs in a part."""
        return -(-self.s * self.s // self.parts)

    @property
    def pairs(self) -> int:
        """The number of pairs in all parts: those of nonterminals, and some of zero."""
        return self.parts * self.part

    def spans(self, width: int) -> int:
        """Return the number of spans of a width in all items."""
        return self.batch * (self.n + 1 - width)

    @property
    def labels(self) -> int:
        """The number of nonterminals and preterminals."""
        return self.s + self.p

    @property
    def chart(self) -> tuple[int, int, int, int]:
        """The shape of a chart: items, first fenceposts, last ones, and nonterminals."""
        return self.batch, self.n + 1, self.n + 1, self.s

    @property
    def largest(self) -> int:
        """The number of numbers in the largest table: a chart, rules summed with words, or rules."""
        words = self.batch * (self.n + 1)
        return self.s * max(words * max(self.labels, self.n + 1), self.groups * self.labels**2)

    def cell(self, chart: Numbers, first: int, last: int, row: int = 0, step: int = 1) -> Matrices:
        """Return the matrices that begin at the labels of the span (i + first, i + last), for each start i.

        Args:
            chart: A chart.
            first: The first fencepost, less i.
            last: The last fencepost, less i.
            row: The distance of rows.
            step: The distance of columns.
        """
        size, s = self.n + 1, self.s
        return Matrices(chart, size * size * s, (size + 1) * s, (first * size + last) * s, row, step)


def sizes_of(scores: Scores, lengths: Tensor) -> Sizes:
    """Return the sizes of a batch with these scores of spans, roots, rules and words."""
    _, root, rules, emission = scores
    return Sizes(len(lengths), len(rules), emission.shape[1], root.shape[1], emission.shape[2])
