"""The outside pass of a grammar on GPUs: derivatives of the log-partition, from wide spans to narrow ones.

The derivative with respect to the sum over a span's children passes to each rule, and through it to both children.
Among the spans of one width, a child has only one parent of which it is the left child, and only one of which it
is the right child. So no two additions to the same number coincide, and all sums have a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from strukt.structures.pcfg.gpu_charts import (
    Chart,
    Ring,
    left_children,
    pairs_of_spans,
    right_children,
    sum_splits,
    workspace_for_pairs,
)
from strukt.structures.pcfg.gpu_layout import Matrices, Numbers, Product, Sides


@dataclass(frozen=True)
class Slopes:
    """Derivatives of the log-partition, times the factor of each item.

    Attributes:
        tops: ``(batch, s)``, with respect to the numbers of the labels of whole items.
        as_left: ``(batch, n + 1, n + 1, s)``, with respect to the numbers of spans, through parents of which they
            are the left child.
        as_right: The same for right children.
        sums: ``(batch, n + 1, n + 1, s)``, with respect to the sums over children, after a row of zeros.
        of_width: ``(batch, n + 1 - width, s)``, a copy of ``sums`` for one width.
        pairs: With respect to the numbers of rules with two nonterminals, as in `Chart`; empty if not needed.
        ending, starting: With respect to the sums over rules with words, as in `Chart`.
        spans: ``(batch, n + 1, n + 1, s + p)``, with respect to the scores of spans, as plain floats.
    """

    tops: Numbers
    as_left: Numbers
    as_right: Numbers
    sums: Numbers
    of_width: Numbers
    pairs: Numbers
    ending: Numbers
    starting: Numbers
    spans: Tensor

    def cell(self, chart: Chart, first: int, last: int, row: int = 0, step: int = 1) -> Matrices:
        """Return matrices of ``sums``, in the way in which `Sizes.cell` returns those of a chart."""
        matrices = chart.sizes.cell(self.sums, first, last, row, step)
        return matrices._replace(first=matrices.first + (chart.sizes.n + 1) * chart.sizes.s)


def gradients(ring: Ring, chart: Chart, tops: Numbers) -> tuple[Tensor, Tensor]:
    """Return the gradients of the scores of spans, including single words, and of rules.

    Args:
        ring: The numbers to compute with; for dual numbers, the results are the moves of the gradients.
        chart: The filled chart.
        tops: ``(batch, s)``, the derivatives of the log-partition with respect to the numbers of the labels of
            whole items.
    """
    spans = chart.inside[0].new_zeros(chart.spans[0].shape)
    slopes = pass_down(ring, chart, tops, spans, rules=True)
    return spans, _rules(ring, chart, slopes)


def pass_down(ring: Ring, chart: Chart, tops: Numbers, spans: Tensor, rules: bool) -> Slopes:
    """Write the gradients of the scores of spans and words to ``spans``, and return all derivatives.

    The other arguments are as in `gradients`. With maxima for sums (`gpu_rings.Maxima`), the result is the best
    score of a tree with each span. Without ``rules``, derivatives for rules with two nonterminals are not
    computed.
    """
    sizes = chart.sizes
    slopes = Slopes(
        tops,
        ring.nothing(*sizes.chart),
        ring.nothing(*sizes.chart),
        ring.nothing((sizes.batch * (sizes.n + 1) + 1) * (sizes.n + 1) * sizes.s),
        ring.nothing(sizes.batch * sizes.n * sizes.s),
        ring.nothing(*chart.pairs[0].shape) if rules else (),
        ring.nothing(*chart.ending[0].shape),
        ring.nothing(*chart.starting[0].shape),
        spans,
    )
    pairs, below = workspace_for_pairs(ring, sizes), workspace_for_pairs(ring, sizes)
    for width in range(sizes.n, 1, -1):
        _close(ring, chart, slopes, width)
        if width > 3 and rules:
            sum_splits(ring, chart, pairs, width)
            _to_rules(ring, chart, slopes, pairs, width)
        if width > 3:
            _to_pairs(ring, chart, slopes, below, width)
            _to_children(ring, chart, slopes, below, width)
    _to_rules_with_words(ring, chart, slopes)
    words = ring.plain_product(chart.words, _words(ring, chart, slopes))
    spans.diagonal(1, 1, 2)[:, sizes.s :] = words.mT
    return slopes


def _close(ring: Ring, chart: Chart, slopes: Slopes, width: int) -> None:
    """Write the derivatives with respect to spans of a width, and to the sums over their children."""
    s, row = chart.sizes.s, (chart.sizes.n + 1) * chart.sizes.s
    parents = Sides(  # one word wider, with this word on the left, or on the right
        slopes.cell(chart, -1, width), chart.starting_at(-1, 1, s), s,
        slopes.cell(chart, 0, width + 1), chart.ending_at(width, 1, chart.sizes.labels), s,
    )  # fmt: skip
    ring.slopes(
        chart, parents, width, *slopes.as_left, *slopes.as_right, *slopes.tops,
        *(numbers[row:] for numbers in slopes.sums), *slopes.of_width, slopes.spans, chart.sizes.labels,
    )  # fmt: skip


def _of_width(chart: Chart, slopes: Slopes, width: int, row: int, step: int) -> tuple[int, Matrices]:
    """Return the number of spans of a width in items that share a grammar, and the matrix of their derivatives."""
    rows = chart.sizes.sharing * (chart.sizes.n + 1 - width)
    return rows, Matrices(slopes.of_width, rows * chart.sizes.s, 0, 0, row, step)


def _to_rules(ring: Ring, chart: Chart, slopes: Slopes, pairs: Numbers, width: int) -> None:
    """Add the derivatives with respect to the rules with two nonterminals as children."""
    s, whole = chart.sizes.s, chart.sizes.pairs
    rows, parents = _of_width(chart, slopes, width, 1, s)
    children = Matrices(pairs, rows * whole, 0, 0, 1, whole)
    out = Matrices(slopes.pairs, s * whole, 0, 0, whole, 1)
    ring.multiply(Product(parents, children, out, (chart.sizes.groups, 1), (s, s * s, rows)), add=True)


def _to_pairs(ring: Ring, chart: Chart, slopes: Slopes, below: Numbers, width: int) -> None:
    """Write the derivatives with respect to the sums over split points of each pair of children."""
    s, whole = chart.sizes.s, chart.sizes.pairs
    rows, parents = _of_width(chart, slopes, width, s, 1)
    rules = Matrices(chart.pairs, s * whole, 0, 0, 1, whole)
    out = Matrices(below, rows * whole, 0, 0, whole, 1)
    ring.multiply(Product(parents, rules, out, (chart.sizes.groups, 1), (rows, s * s, s)))


def _to_children(ring: Ring, chart: Chart, slopes: Slopes, below: Numbers, width: int) -> None:
    """Add the derivatives with respect to both children, for each split point of the spans of a width."""
    sizes, s = chart.sizes, chart.sizes.s
    row = (sizes.n + 1) * s
    places, shape = (sizes.batch, sizes.n + 1 - width), (width - 3, s, s)
    right, to_left = right_children(sizes, chart.inside, width, row, 1), left_children(sizes, slopes.as_left, s, 1)
    ring.multiply(Product(right, pairs_of_spans(sizes, below, width, s, 1), to_left, places, shape), add=True)
    left = left_children(sizes, chart.inside, s, 1)
    to_right = right_children(sizes, slopes.as_right, width, row, 1)
    ring.multiply(Product(left, pairs_of_spans(sizes, below, width, 1, s), to_right, places, shape), add=True)


def _to_rules_with_words(ring: Ring, chart: Chart, slopes: Slopes) -> None:
    """Write the derivatives with respect to the sums over rules with each word."""
    sizes = chart.sizes
    n, s, labels = sizes.n, sizes.s, sizes.labels
    row, cells, ending = (n + 1) * s, (n + 1) ** 2 * s, s * labels
    # Each word on the right: its parents are the spans (k, i + 1), and the left children the spans (k, i).
    parents = Matrices(slopes.sums, cells, s, row + s, 1, row)
    children = Matrices(chart.inside, cells, s, 0, 1, row)
    out = Matrices(slopes.ending, n * ending, ending, 0, labels, 1)
    ring.multiply(Product(parents, children, out, (sizes.batch, n), (s, s, n)))
    # Two words: the parents are the spans (i, i + 2).
    parents, words = slopes.cell(chart, 0, 2, 1), chart.words_at(0, 1)
    out = Matrices(slopes.ending, n * ending, ending, ending + s, labels, 1)
    ring.multiply(Product(parents, words, out, (sizes.batch, n - 1), (s, sizes.p, 1)))
    # Each word on the left: its parents are the spans (i, k), and the right children the spans (i + 1, k).
    parents = Matrices(slopes.sums, cells, row, row, 1, s)
    children = Matrices(chart.inside, cells, row, row, 1, s)
    out = Matrices(slopes.starting, n * s * s, s * s, 0, s, 1)
    ring.multiply(Product(parents, children, out, (sizes.batch, n), (s, s, n + 1)))


def _words(ring: Ring, chart: Chart, slopes: Slopes) -> Numbers:
    """Return the derivatives with respect to the numbers of words, ``(batch, n, p)``."""
    sizes = chart.sizes
    n, s, p, labels = sizes.n, sizes.s, sizes.p, sizes.labels
    result = ring.nothing(*chart.words[0].shape)
    rows = sizes.sharing * n
    out = Matrices(result, rows * p, 0, 0, p, 1)
    for summed, rules, each in (
        (slopes.ending, chart.beside, s * labels), (slopes.starting, chart.before, s * s),
    ):  # fmt: skip
        left, right = Matrices(summed, rows * each, 0, 0, each, 1), Matrices(rules, each * p, 0, 0, 1, p)
        ring.multiply(Product(left, right, out, (sizes.groups, 1), (rows, p, each)), add=True)
    # The left one of two words.
    parents, beside = slopes.cell(chart, 0, 2), chart.ending_at(1, 1, labels, s)
    out = Matrices(result, n * p, p, 0, 0, 1)
    ring.multiply(Product(parents, beside, out, (sizes.batch, n - 1), (1, p, s)), add=True)
    return result


def _rules(ring: Ring, chart: Chart, slopes: Slopes) -> Tensor:
    """Return the derivatives with respect to the scores of rules, ``(groups, s, s + p, s + p)``."""
    sizes = chart.sizes
    groups, s, p, labels, rows = sizes.groups, sizes.s, sizes.p, sizes.labels, sizes.sharing * sizes.n
    result = chart.inside[0].new_empty(groups, s, labels, labels)
    pairs = ring.plain_product(slopes.pairs, chart.pairs)[..., : s * s]
    result[:, :, :s, :s] = pairs.view(groups, s, s, s)
    words = Matrices(chart.words, rows * p, 0, 0, 1, p)
    parts = []
    for summed, rules, each in (
        (slopes.ending, chart.beside, s * labels), (slopes.starting, chart.before, s * s),
    ):  # fmt: skip
        used = ring.nothing(groups, each, p)
        out = Matrices(used, each * p, 0, 0, p, 1)
        left = Matrices(summed, rows * each, 0, 0, 1, each)
        ring.multiply(Product(left, words, out, (groups, 1), (each, p, rows)))
        parts.append(ring.plain_product(used, rules))
    beside, before = parts
    result[..., s:] = beside.view(groups, s, labels, p)
    result[:, :, s:, :s] = before.view(groups, s, s, p).mT
    return result
