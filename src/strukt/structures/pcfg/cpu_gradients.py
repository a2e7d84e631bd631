"""Gradients with respect to a grammar's scores, from those of its weights and the marginals of labelled spans."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import group_sums
from strukt.kernels.memory import empty
from strukt.structures.pcfg.cpu_outside import Expected
from strukt.structures.pcfg.cpu_weights import Grammar


def zero_expected(grammar: Grammar, slots: int) -> Expected:
    """Return zeros to which ``slots`` threads add derivatives, each in its own slot."""
    matrices = (grammar.pairs, grammar.words, grammar.beside, grammar.before)
    expected = Expected(*(empty((slots, *matrix.shape)) for matrix in matrices))
    for array in expected:
        array.fill(0.0)
    return expected


def rules_of(grammar: Grammar, expected: Expected) -> Array:
    """Return the derivatives with respect to the scores of rules: ``(groups, s, s + p, s + p)``.

    ``expected`` are those with respect to their weights; the slots are summed.
    """
    groups, s, labels, _ = grammar.rules.shape
    pairs, words, beside, before = (part.sum(0) if len(part) > 1 else part[0] for part in expected)
    rules = empty(grammar.rules.shape)
    rules[:, :, :s, :s] = pairs.reshape(groups, s, s, s)
    rules[:, :, s:, s:] = words.reshape(groups, s, labels - s, labels - s)
    rules[:, :, :s, s:] = beside.reshape(groups, s, s, labels - s)
    rules[:, :, s:, :s] = before.reshape(groups, s, s, labels - s).swapaxes(2, 3)
    rules *= grammar.rules
    return rules


def gradients(scores: Scores, lengths: Tensor, spans: Tensor, rules: Array) -> Scores:
    """Return the gradients of all scores, from those of ``spans (batch, n + 1, n + 1, s + p)`` and of ``rules``.

    The gradient of a root label is that of the whole sentence with this label, and the gradient of an emission
    that of the word with this preterminal, each summed over the items of a group.
    """
    _, root, rule_scores, emission = scores
    s, spans = root.shape[1], spans.to(root.dtype)
    words = spans.diagonal(1, 1, 2)[:, s:].mT
    top = spans[torch.arange(len(spans)), 0, lengths, :s]
    grad = torch.from_numpy(rules.astype(rule_scores.numpy().dtype))
    return spans, group_sums(top, len(root)), grad, group_sums(words, len(emission))
