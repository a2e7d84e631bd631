"""Sentences of a grammar that begin with given words and lead an automaton to a state that accepts.

The grammar is intersected with the automaton (Bar-Hillel, Perles and Shamir 1961): a symbol from one state to
another stands for all that it yields and that leads there. Of words to come only their number and the states
count, so that tables of spans of them have no places:

    free[k][q, q', A]   A yields k words to come, from state q to q'
    seen[i, j, A]       A yields the words i to j - 1, which are there
    open[i][l, q', A]   A yields the words from i on and l words to come, to state q'
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Rules(NamedTuple):
    """A grammar in Chomsky normal form, in probabilities.

    Attributes:
        root: ``(s + p,)``, 0 for preterminals.
        rules: ``(s + p, s + p, s + p)``, 0 where a preterminal would be rewritten.
        emission: ``(v, p)``.
    """

    root: Tensor
    rules: Tensor
    emission: Tensor

    def of_words(self, chances: Tensor) -> Tensor:
        """Symbols ``(*, s + p)`` that yield single words, by the preterminals ``(*, p)``."""
        zeros = chances.new_zeros(*chances.shape[:-1], len(self.root) - chances.shape[-1])
        return torch.cat([zeros, chances], -1)

    def joined(self, pairs: Tensor) -> Tensor:
        """Symbols ``(*, s + p)`` that yield pairs of symbols ``(*, s + p, s + p)``."""
        return torch.einsum("...bc,abc->...a", pairs, self.rules)


class Reading(NamedTuple):
    """An automaton that reads the words of a grammar, with what may come.

    Attributes:
        transitions: ``(q, c)``.
        accepting: ``(q,)``, 1 or 0.
        classes: ``(v,)``.
        chances: ``(c, p)``, the probability of the words of each class.
        free: ``(n, q, q, s + p)``, ``[k - 1]`` for k words.
    """

    transitions: Tensor
    accepting: Tensor
    classes: Tensor
    chances: Tensor
    free: Tensor

    def first(self, chances: Tensor) -> Tensor:
        """Preterminals of a word between each two states, ``(q, q, p)``, by those of each class ``(c, p)``."""
        q, c = self.transitions.shape
        places = self.transitions + torch.arange(q, device=chances.device).unsqueeze(1) * q
        each = chances.expand(q, c, -1).flatten(0, 1)
        return chances.new_zeros(q * q, chances.shape[1]).index_add(0, places.flatten(), each).view(q, q, -1)


def reading(grammar: Rules, transitions: Tensor, accepting: Tensor, classes: Tensor, longest: int) -> Reading:
    """The automaton with the tables of up to ``longest`` words to come.

    O(n^2 q^3 (s + p)^2 + n q^2 s (s + p)^2) time for n of them, and O(n q^2 (s + p)) memory.
    """
    chances = grammar.emission.new_zeros(transitions.shape[1], grammar.emission.shape[1])
    chances = chances.index_add(0, classes, grammar.emission)
    part = Reading(transitions, accepting.to(chances.dtype), classes, chances, chances.new_zeros(0))
    free = [grammar.of_words(part.first(chances))]
    while len(free) < longest:
        pairs = sum(
            torch.einsum("xyb,yzc->xzbc", left, right) for left, right in zip(free, free[::-1], strict=True)
        )
        assert isinstance(pairs, Tensor)
        free.append(grammar.joined(pairs))
    return part._replace(free=torch.stack(free))


def next_words(
    grammar: Rules, automaton: Reading, words: Tensor, states: Tensor, left: int
) -> tuple[Tensor, Tensor]:
    """The probability of words and each next one, and that of the words as a sentence.

    Args:
        grammar: The grammar.
        automaton: What the whole sentence must lead to a state that accepts.
        words: ``(t, p)``, the probabilities of the words so far, or in proportion to these.
        states: ``(t + 1,)``, the states of the automaton in front of each of them, and behind the last one.
        left: The most words to come, at least 1.

    Returns:
        ``(v,)`` and a scalar, in O(t n (t + n q) q (s + p)^2 + t n q s (s + p)^2) time.
    """
    seen = _seen(grammar, grammar.of_words(words))
    with torch.enable_grad():  # the derivative in the chances of the next word is all that stands around it
        chances = automaton.chances.detach().requires_grad_()
        behind = grammar.of_words(automaton.first(chances)[states[-1]])
        opened = [_opened(grammar, automaton, left, [behind])]
        for i in reversed(range(len(words))):
            joined = torch.einsum("kb,klqc->lqbc", seen[i][i + 1 :], torch.stack(opened[::-1]))
            opened.append(_opened(grammar, automaton, left, [], joined))
        total = (opened[-1] @ grammar.root * automaton.accepting).sum()
        (around,) = torch.autograd.grad(total, chances)
    whole = seen[0][-1] @ grammar.root * automaton.accepting[states[-1]] if seen else total.new_zeros(())
    return (grammar.emission * around[automaton.classes]).sum(1), whole.detach()


def _seen(grammar: Rules, words: Tensor) -> list[Tensor]:
    """``[i][j, A]`` for spans of words ``(t, s + p)``, 0 for j <= i."""
    t, symbols = words.shape
    table = [[words.new_zeros(symbols)] * (t + 1) for _ in range(t)]
    for i in reversed(range(t)):
        table[i][i + 1] = words[i]
        for j in range(i + 2, t + 1):
            left = torch.stack(table[i][i + 1 : j])
            right = torch.stack([table[k][j] for k in range(i + 1, j)])
            table[i][j] = grammar.joined(left.mT @ right)
    return [torch.stack(row) for row in table]


def _opened(
    grammar: Rules, automaton: Reading, left: int, first: list[Tensor], joined: Tensor | None = None
) -> Tensor:
    """``open`` at one place, ``(left, q, s + p)``.

    Args:
        grammar: The grammar.
        automaton: The automaton.
        left: The most words to come.
        first: At the place behind all words that are there, ``(q, s + p)`` for one word to come; else nothing.
        joined: ``(left, q, s + p, s + p)``, pairs of a span of words that are there and ``open`` behind it.
    """
    rows = list(first)
    while len(rows) < left:
        pairs = [] if joined is None else [joined[len(rows)]]
        if rows:
            free = automaton.free[: len(rows)].flip(0)
            pairs.append(torch.einsum("lxb,lxyc->ybc", torch.stack(rows), free))
        rows.append(grammar.joined(torch.stack(pairs).sum(0)))
    return torch.stack(rows)
