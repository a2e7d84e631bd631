"""The inside pass of a grammar on GPUs as products of matrices, in sums or in maxima.

Spans are processed from narrow to wide; all spans of one width in all items are computed at once. If both children
are nonterminals, sums over split points are computed first, one for each pair of labels, and then sums over the
rules, in several parts to fill a GPU. If one child is a word, the rules are summed with this word once, which
leaves a matrix between nonterminals. One kernel computes all products: their matrices lie in charts and workspaces
at regular distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from strukt.kernels.autograd import Scores
from strukt.structures.pcfg.gpu_layout import Matrices, Numbers, Product, Sides, Sizes, sizes_of


class Ring(Protocol):
    """The operations on numbers of one kind: extended numbers, scores whose sums are maxima, or dual numbers."""

    def nothing(self, *shape: int) -> Numbers:
        """Return numbers of a shape, all equal to the ring's zero."""

    def multiply(self, product: Product, add: bool = False) -> None:
        """Write a product to ``product.out``; with ``add``, add it there, which for maxima takes the larger."""

    def plain_product(self, left: Numbers, right: Numbers) -> Tensor:
        """Return elementwise products as plain floats; of dual numbers, the moves of these products."""

    def close(self, chart: Chart, sides: Sides, width: int, *others: Any) -> None:
        """Write the numbers of the spans of a width, from their children; see `gpu_inside.close`."""

    def slopes(self, chart: Chart, parents: Sides, width: int, *others: Any) -> None:
        """Write the derivatives for the spans of a width; see `gpu_outside.slopes`."""


class Tables(NamedTuple):
    """The scores of rules and words in the layout of a `Chart`.

    Attributes:
        pairs: ``(groups, s, pairs)``, the rules with two nonterminals as children, ``[A, (B, C)]``, and padding;
            see `Sizes.pairs`.
        beside: ``(groups, s (s + p), p)``, the rules A -> B word, ``[(A, B), c]`` for preterminal c.
        before: ``(groups, s s, p)``, the rules A -> word C, ``[(A, C), c]`` for preterminal c.
        words: ``(batch, n, p)``, the score of each word with each preterminal, in float64.
    """

    pairs: Tensor
    beside: Tensor
    before: Tensor
    words: Tensor


@dataclass(frozen=True)
class Chart:
    """The numbers of a grammar and of a batch of sentences.

    Attributes:
        sizes: The sizes of the batch.
        spans: ``(batch, n + 1, n + 1, s + p)``, the scores of spans; for dual numbers also their directions.
        lengths: ``(batch,)``.
        pairs, beside, before, words: The numbers of `Tables`; 0 in the padding of pairs and of words.
        ending: ``(batch, n, s, s + p)``, for each word the sum over the rules A -> B word, ``[A, B]``; a matrix of
            zeros follows.
        starting: ``(batch, n, s, s)``, for each word the sum over the rules A -> word C, ``[A, C]``, after a
            matrix of zeros.
        inside: ``(batch, n + 1, n + 1, s)``, the inside numbers of spans of two or more words, by first and last
            fencepost; 0 elsewhere.
    """

    sizes: Sizes
    spans: Scores
    lengths: Tensor
    pairs: Numbers
    beside: Numbers
    before: Numbers
    words: Numbers
    ending: Numbers
    starting: Numbers
    inside: Numbers

    def ending_at(self, word: int, row: int, step: int, first: int = 0) -> Matrices:
        """Return, for each start i, the matrix of the rules whose right child is word i + ``word``.

        Left children begin at label ``first``; ``row`` and ``step`` are the strides of `Matrices`, here and below.
        """
        s, labels = self.sizes.s, self.sizes.labels
        size = s * labels
        return Matrices(self.ending, self.sizes.n * size, size, word * size + first, row, step)

    def starting_at(self, word: int, row: int, step: int) -> Matrices:
        """Return, for each start i, the matrix of the rules whose left child is word i + ``word``."""
        size = self.sizes.s**2
        return Matrices(self.starting, self.sizes.n * size, size, (word + 1) * size, row, step)

    def words_at(self, word: int, row: int = 0, step: int = 1) -> Matrices:
        """Return, for each start i, the numbers of word i + ``word``."""
        n, p = self.sizes.n, self.sizes.p
        return Matrices(self.words, n * p, p, word * p, row, step)


def tables_of(scores: Scores, lengths: Tensor, nothing: float) -> Tables:
    """Return scores in the layout of a chart.

    Args:
        scores: The scores of spans, roots, rules and words.
        lengths: ``(batch,)``.
        nothing: The score in the padding of words and of pairs.
    """
    spans, _, rules, emission = scores
    sizes = sizes_of(scores, lengths)
    s = sizes.s
    return Tables(
        pad(rules[..., :s, :s].flatten(2), (0, sizes.pairs - s * s), value=nothing),
        rules[..., s:].flatten(1, 2),
        rules[:, :, s:, :s].mT.flatten(1, 2),
        word_scores(spans, emission, lengths, s, nothing),
    )


def word_scores(spans: Tensor, emission: Tensor, lengths: Tensor, s: int, nothing: float) -> Tensor:
    """Return the float64 scores of words with each preterminal ``(batch, n, p)``; ``nothing`` in the padding."""
    each = emission.double().repeat_interleave(len(spans) // len(emission), 0)
    scores = spans.diagonal(1, 1, 2)[:, s:].mT + each
    outside = torch.arange(emission.shape[1], device=lengths.device) >= lengths[:, None]
    return scores.masked_fill(outside[..., None], nothing)


def open_chart(ring: Ring, sizes: Sizes, spans: Scores, lengths: Tensor, tables: list[Numbers]) -> Chart:
    """Return a chart that holds the words but no spans yet, from the numbers of `tables_of`."""
    n, s = sizes.n, sizes.s
    pairs, beside, before, words = tables
    chart = Chart(
        sizes, spans, lengths.contiguous(), pairs, beside, before, words,
        ring.nothing((sizes.batch * n + 1) * s * sizes.labels),
        ring.nothing((sizes.batch * n + 1) * s * s), ring.nothing(*sizes.chart),
    )  # fmt: skip
    _sum_with_words(ring, chart)
    return chart


def _sum_with_words(ring: Ring, chart: Chart) -> None:
    """Write the sums over rules with each word, ``ending`` and ``starting``."""
    sizes = chart.sizes
    rows, p, s = sizes.sharing * sizes.n, sizes.p, sizes.s
    words = Matrices(chart.words, rows * p, 0, 0, p, 1)
    for rules, out, each, first in (
        (chart.beside, chart.ending, s * sizes.labels, 0),
        (chart.before, chart.starting, s * s, s * s),
    ):
        tables, sums = Matrices(rules, each * p, 0, 0, p, 1), Matrices(out, rows * each, 0, first, each, 1)
        ring.multiply(Product(words, tables, sums, (sizes.groups, 1), (rows, each, p)))


def fill(ring: Ring, chart: Chart) -> None:
    """Write the numbers of all spans, with at most two products and one call of `Ring.close` for each width."""
    sizes = chart.sizes
    sums = ring.nothing(sizes.parts * sizes.batch * sizes.n * sizes.s)
    pairs = workspace_for_pairs(ring, sizes)
    for width in range(2, sizes.n + 1):
        if width > 3:
            sum_splits(ring, chart, pairs, width)
            _sum_rules(ring, chart, pairs, sums, width)
        parts, part = sizes.parts if width > 3 else 0, sizes.spans(width) * sizes.s
        ring.close(chart, _sides(chart, width), width, *sums, parts, part)


def workspace_for_pairs(ring: Ring, sizes: Sizes) -> Numbers:
    """Allocate workspace for a number for each pair of children of all spans of a width."""
    return ring.nothing(sizes.batch * max(sizes.n - 3, 0) * sizes.pairs)


def pairs_of_spans(sizes: Sizes, pairs: Numbers, width: int, row: int, step: int) -> Matrices:
    """Return, for each span of a width, the matrix of its pairs of children."""
    return Matrices(pairs, (sizes.n + 1 - width) * sizes.pairs, sizes.pairs, 0, row, step)


def left_children(sizes: Sizes, chart: Numbers, row: int, step: int) -> Matrices:
    """Return the left children of the spans from each start, from two words on; they are s numbers apart."""
    return sizes.cell(chart, 0, 2, row, step)


def right_children(sizes: Sizes, chart: Numbers, width: int, row: int, step: int) -> Matrices:
    """Return the right children of the spans of a width, in the order of `left_children`.

    They are (n + 1) s numbers apart.
    """
    return sizes.cell(chart, 2, width, row, step)


def sum_splits(ring: Ring, chart: Chart, pairs: Numbers, width: int) -> None:
    """Write the sums over split points of each pair of nonterminals, for all spans of a width."""
    sizes, s = chart.sizes, chart.sizes.s
    left = left_children(sizes, chart.inside, 1, s)
    right = right_children(sizes, chart.inside, width, 1, (sizes.n + 1) * s)
    out = pairs_of_spans(sizes, pairs, width, s, 1)
    ring.multiply(Product(left, right, out, (sizes.batch, sizes.n + 1 - width), (s, s, width - 3)))


def _sum_rules(ring: Ring, chart: Chart, pairs: Numbers, sums: Numbers, width: int) -> None:
    """Write the sums over the rules with two nonterminals as children, each part separately."""
    sizes = chart.sizes
    s, all_pairs, part = sizes.s, sizes.pairs, sizes.part
    rows = sizes.sharing * (sizes.n + 1 - width)
    children = Matrices(pairs, rows * all_pairs, part, 0, all_pairs, 1)
    rules = Matrices(chart.pairs, s * all_pairs, part, 0, all_pairs, 1)
    out = Matrices(sums, rows * s, sizes.groups * rows * s, 0, s, 1)
    ring.multiply(Product(children, rules, out, (sizes.groups, sizes.parts), (rows, s, part)))


def _sides(chart: Chart, width: int) -> Sides:
    """Return the children of spans of a width: those left of a last word, and those right of a first word.

    If both children are words, they count as the former only.
    """
    sizes = chart.sizes
    s, labels = sizes.s, sizes.labels
    right, starting = sizes.cell(chart.inside, 1, width), chart.starting_at(0, s, 1)
    if width == 2:
        return Sides(chart.words_at(0), chart.ending_at(1, labels, 1, s), sizes.p, right, starting, 0)
    left, ending = sizes.cell(chart.inside, 0, width - 1), chart.ending_at(width - 1, labels, 1)
    return Sides(left, ending, s, right, starting, s)
