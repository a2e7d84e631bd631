"""The sizes of a batch of sentences on GPUs, and the positions of matrices in its charts and workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from strukt.kernels.autograd import Scores

Numbers = tuple[Tensor, ...]
"""Numbers as tensors of one shape: mantissas and exponents (for dual numbers also those of moves), or scores."""

PART = 512
"""The least number of pairs of children in a part of the sums over rules, unless there are fewer in all."""

MOST_PARTS = 16
"""The largest number of parts of the sums over rules."""


class Matrices(NamedTuple):
    """A matrix for each item i and each start j, whose entries lie at strides in the memory.

    Entry (r, k) is at ``i * item + j * start + first + r * row + k * step``.

    Attributes:
        numbers: The memory.
        item, start: The strides between items, and between starts within an item.
        first: The index of the first entry.
        row, step: The strides between rows and between columns.
    """

    numbers: Numbers
    item: int
    start: int
    first: int
    row: int
    step: int

    def arguments(self) -> tuple[Any, ...]:
        """Return the fields in the order in which kernels take them."""
        return (*self.numbers, *self[1:])


class Product(NamedTuple):
    """Products of matrices: ``out[r, c]`` is the sum over k of ``left[r, k] right[c, k]``.

    Attributes:
        left: The left matrices.
        right: The right matrices, transposed.
        out: The results.
        places: The number of items, and the number of starts in each item.
        shape: The ranges of r, c and k.
    """

    left: Matrices
    right: Matrices
    out: Matrices
    places: tuple[int, int]
    shape: tuple[int, int, int]


class Sides(NamedTuple):
    """For the spans of a width, the numbers of the sibling of a word, and the rules summed with this word.

    Attributes:
        left: The numbers of the left child beside a last word; in outside passes, those of the parent.
        ending: The matrix of the rules whose right child is this word.
        left_depth: The number of labels of ``left``.
        right, starting, right_depth: The same for the right child beside a first word.
    """

    left: Matrices
    ending: Matrices
    left_depth: int
    right: Matrices
    starting: Matrices
    right_depth: int

    def arguments(self) -> tuple[Any, ...]:
        """Return the fields in the order in which kernels take them."""
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
        """The number of items that share a grammar."""
        return self.batch // self.groups

    @property
    def parts(self) -> int:
        """The number of parts into which sums over pairs of nonterminals are split."""
        return max(1, min(MOST_PARTS, self.s * self.s // PART))

    @property
    def part(self) -> int:
        """The number of pairs in a part."""
        return -(-self.s * self.s // self.parts)

    @property
    def pairs(self) -> int:
        """The number of pairs in all parts: those of nonterminals, and padding."""
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
        """The number of entries in the largest table: a chart, the rules summed with words, or the rules."""
        words = self.batch * (self.n + 1)
        return self.s * max(words * max(self.labels, self.n + 1), self.groups * self.labels**2)

    def cell(self, chart: Numbers, first: int, last: int, row: int = 0, step: int = 1) -> Matrices:
        """Return the matrices that begin at the labels of the span (i + first, i + last), for each start i.

        Args:
            chart: The numbers of a chart.
            first: The first fencepost minus i.
            last: The last fencepost minus i.
            row: The stride between rows.
            step: The stride between columns.
        """
        size, s = self.n + 1, self.s
        return Matrices(chart, size * size * s, (size + 1) * s, (first * size + last) * s, row, step)


def sizes_of(scores: Scores, lengths: Tensor) -> Sizes:
    """Return the sizes of a batch with these scores of spans, roots, rules and words."""
    _, root, rules, emission = scores
    return Sizes(len(lengths), len(rules), emission.shape[1], root.shape[1], emission.shape[2])
