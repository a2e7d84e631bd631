"""For each labelled span the best score of a tree of a grammar that has it."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, Max
from strukt.structures.pcfg.reference import Chart, Grammar, fill, for_items, grammar_of


def max_marginals(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor) -> Tensor:
    """Inside and outside in the semiring of maxima: the shape of ``spans``, -inf for what no tree has.

    Takes what `reference.recursion` takes, and as long.
    """
    n, s = spans.shape[1] - 1, rules.shape[1]
    grammar = grammar_of(rules, lengths)
    chart = fill(Max(), spans, grammar, emission, lengths)
    around = _around(grammar, chart, for_items(root, 0, lengths), lengths)
    found = torch.full_like(spans, NEG_INF, memory_format=torch.contiguous_format)
    for width in range(1, n + 1):
        labels = slice(s, None) if width == 1 else slice(s)
        best = around.inside[width] + chart.inside[width]
        found.diagonal(width, 1, 2)[:, labels] = best.mT
    return found


def _around(grammar: Grammar, chart: Chart, root: Tensor, lengths: Tensor) -> Chart:
    """The best score of all that is around each entry of a chart."""
    best = Chart(
        chart.own,
        [torch.full_like(values, NEG_INF) for values in chart.inside],
        torch.full_like(chart.beside, NEG_INF),
        torch.full_like(chart.before, NEG_INF),
    )
    for width in range(len(chart.inside) - 1, 1, -1):
        top = (lengths == width).unsqueeze(-1)
        best.inside[width][:, 0] = torch.where(top, root, best.inside[width][:, 0])
        above = best.inside[width] + chart.own[width]
        _around_words(chart, best, above, width)
        if width > 3:
            _around_pairs(grammar, chart, best, above, width)
    for words in best.inside[1:2]:
        _raise(words, (best.beside.unsqueeze(-1) + grammar.beside.unsqueeze(1)).amax((2, 3)))
        _raise(words, (best.before.unsqueeze(3) + grammar.before.unsqueeze(1)).amax((2, 4)))
    return best


def _around_words(chart: Chart, best: Chart, above: Tensor, width: int) -> None:
    """From the spans of a width to their children, where one is a word."""
    s, count = above.shape[-1], above.shape[1]
    labels = slice(s, None) if width == 2 else slice(s)
    above, narrower = above.unsqueeze(-1), chart.inside[width - 1].unsqueeze(-2)
    last = slice(width - 1, None)
    _raise(best.inside[width - 1][:, :count], (above + chart.beside[:, last, :, labels]).amax(-2))
    _raise(best.beside[:, last, :, labels], above + narrower[:, :count])
    if width > 2:
        _raise(best.inside[width - 1][:, 1:], (above + chart.before[:, :count]).amax(-2))
        _raise(best.before[:, :count], above + narrower[:, 1:])


def _around_pairs(grammar: Grammar, chart: Chart, best: Chart, above: Tensor, width: int) -> None:
    """From the spans of a width to their children, where both are nonterminals."""
    count = above.shape[1]
    pairs = (above[..., None, None] + grammar.pairs.unsqueeze(1)).amax(2)
    for part in range(2, width - 1):
        left, right = slice(count), slice(part, part + count)
        rest = width - part
        _raise(best.inside[part][:, left], (pairs + chart.inside[rest][:, right, None, :]).amax(-1))
        _raise(best.inside[rest][:, right], (pairs + chart.inside[part][:, left, :, None]).amax(-2))


def _raise(values: Tensor, others: Tensor) -> None:
    """Replace values by others where these are larger."""
    values.copy_(torch.maximum(values.clone(), others))  # the derivative needs what they were
