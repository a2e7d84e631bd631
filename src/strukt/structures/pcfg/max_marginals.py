"""Max-marginals of grammars: for each labelled span the best score of a tree that has it."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, Max
from strukt.structures.pcfg.reference import Chart, Grammar, fill, for_items, grammar_of


def max_marginals(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each labelled span, the best score of a tree with it, shaped like ``spans``.

    It is -inf if there is no such tree. This runs the inside and the outside pass in the max-plus
    semiring. Arguments and time are those of `reference.recursion`.
    """
    n, s = spans.shape[1] - 1, rules.shape[1]
    grammar = grammar_of(rules, lengths)
    chart = fill(Max(), spans, grammar, emission, lengths)
    around = _around(grammar, chart, for_items(root, 0, lengths), lengths)
    result = torch.full_like(spans, NEG_INF, memory_format=torch.contiguous_format)
    for width in range(1, n + 1):
        labels = slice(s, None) if width == 1 else slice(s)
        best = around.inside[width] + chart.inside[width]
        result.diagonal(width, 1, 2)[:, labels] = best.mT
    return result


def _around(grammar: Grammar, chart: Chart, root: Tensor, lengths: Tensor) -> Chart:
    """Return the best outside score of each entry of a chart."""
    best = Chart(
        chart.span_scores,
        [torch.full_like(values, NEG_INF) for values in chart.inside],
        torch.full_like(chart.beside, NEG_INF),
        torch.full_like(chart.before, NEG_INF),
    )
    for width in range(len(chart.inside) - 1, 1, -1):
        top = (lengths == width).unsqueeze(-1)
        best.inside[width][:, 0] = torch.where(top, root, best.inside[width][:, 0])
        above = best.inside[width] + chart.span_scores[width]
        _around_words(chart, best, above, width)
        if width > 3:
            _around_pairs(grammar, chart, best, above, width)
    for words in best.inside[1:2]:
        _raise(words, (best.beside.unsqueeze(-1) + grammar.beside.unsqueeze(1)).amax((2, 3)))
        _raise(words, (best.before.unsqueeze(3) + grammar.before.unsqueeze(1)).amax((2, 4)))
    return best


def _around_words(chart: Chart, best: Chart, above: Tensor, width: int) -> None:
    """Propagate outside scores from the spans of a width to their children, where one child is a word."""
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
    """Propagate outside scores from the spans of a width to their children, where both are nonterminals."""
    count = above.shape[1]
    pairs = (above[..., None, None] + grammar.pairs.unsqueeze(1)).amax(2)
    for part in range(2, width - 1):
        left, right = slice(count), slice(part, part + count)
        rest = width - part
        _raise(best.inside[part][:, left], (pairs + chart.inside[rest][:, right, None, :]).amax(-1))
        _raise(best.inside[rest][:, right], (pairs + chart.inside[part][:, left, :, None]).amax(-2))


def _raise(values: Tensor, others: Tensor) -> None:
    """Raise ``values`` to ``others`` where these are larger, in place."""
    values.copy_(torch.maximum(values.clone(), others))  # the derivative needs the old values
