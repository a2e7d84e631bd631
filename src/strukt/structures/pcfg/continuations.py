"""Probabilities that a sentence of a grammar begins with given words and is accepted by an automaton.

The grammar is intersected with the automaton (Bar-Hillel, Perles and Shamir 1961): a symbol between two states
derives the word sequences that lead the automaton from one to the other. For future words only their number and
the states matter, so tables over spans of future words need no positions. They hold the probability that

    free[k][q, q', A]   A yields k words to come, from state q to q'
    seen[i, j, A]       A yields the known words i to j - 1
    open[i][l, q', A]   A yields the words from i on and l words to come, to state q'
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Rules(NamedTuple):
    """A grammar in Chomsky normal form, in probabilities.

    Attributes:
        root: ``(s + p,)``, the probability of each symbol as the root; 0 for preterminals.
        rules: ``(s + p, s + p, s + p)``, where ``[A, B, C]`` is for A -> B C; 0 if A is a preterminal.
        emission: ``(v, p)``, the probability of each word given each preterminal.
    """

    root: Tensor
    rules: Tensor
    emission: Tensor

    def of_words(self, chances: Tensor) -> Tensor:
        """Extend the probabilities of single words given preterminals ``(*, p)`` to all symbols ``(*, s + p)``."""
        zeros = chances.new_zeros(*chances.shape[:-1], len(self.root) - chances.shape[-1])
        return torch.cat([zeros, chances], -1)

    def joined(self, pairs: Tensor) -> Tensor:
        """Sum the probabilities of pairs of children ``(*, s + p, s + p)`` over the rules: ``(*, s + p)``."""
        return torch.einsum("...bc,abc->...a", pairs, self.rules)


class Reading(NamedTuple):
    """An automaton that reads the words of a grammar, with the tables of future words.

    Attributes:
        transitions: ``(q, c)``, the next state, from each state by a word of each class.
        accepting: ``(q,)``, 1 or 0.
        classes: ``(v,)``, the class of each word.
        chances: ``(c, p)``, the total probability of the words of each class given each preterminal.
        free: ``(n, q, q, s + p)``, the table of k future words at ``[k - 1]``.
    """

    transitions: Tensor
    accepting: Tensor
    classes: Tensor
    chances: Tensor
    free: Tensor

    def first(self, chances: Tensor) -> Tensor:
        """Return the probability of a word that leads from one state to another, given each preterminal.

        The result is ``(q, q, p)``, from the probabilities of classes ``chances (c, p)``.
        """
        q, c = self.transitions.shape
        places = self.transitions + torch.arange(q, device=chances.device).unsqueeze(1) * q
        each = chances.expand(q, c, -1).flatten(0, 1)
        return chances.new_zeros(q * q, chances.shape[1]).index_add(0, places.flatten(), each).view(q, q, -1)


def reading(grammar: Rules, transitions: Tensor, accepting: Tensor, classes: Tensor, longest: int) -> Reading:
    """Return the automaton with the tables of 1 to ``longest`` future words.

    The shapes of ``transitions``, ``accepting`` and ``classes`` are in `Reading`. Takes O(n^2 q^3 u^2 + n q^2 u^3
    + (q c + v) p) time and O(n q^2 u + q^2 u^2 + (q c + v) p) memory, for n = ``longest`` and u = s + p symbols.
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
    grammar: Rules, automaton: Reading, words: Tensor, states: Tensor, left: int, exact: bool
) -> tuple[Tensor, Tensor]:
    """Return the joint probability of the words and each next word, and that of the words as a whole sentence.

    Args:
        grammar: The grammar.
        automaton: The automaton that must accept the whole sentence.
        words: ``(t, p)``, the probability of each word so far given each preterminal, up to a factor per word.
        states: ``(t + 1,)``, the state of the automaton before each word, and after the last word.
        left: The largest number of words to come, at least 1.
        exact: Whether exactly ``left`` words must come, not fewer.

    Returns:
        ``(v,)`` and a scalar. For n = ``left`` and u = s + p symbols, this takes O((t + 1) n q (t + n q + u) u^2 +
        t^2 (t + u) u^2 + (q c + v) p) time.
    """
    seen = _seen(grammar, grammar.of_words(words))
    with torch.enable_grad():  # the derivative with respect to the chances of the next word is its outside value
        chances = automaton.chances.detach().requires_grad_()
        behind = grammar.of_words(automaton.first(chances)[states[-1]])
        opened = [_opened(grammar, automaton, left, [behind])]
        for i in reversed(range(len(words))):
            joined = torch.einsum("kb,klqc->lqbc", seen[i][i + 1 :], torch.stack(opened[::-1]))
            opened.append(_opened(grammar, automaton, left, [], joined))
        ends = opened[-1][-1:] if exact else opened[-1]
        total = (ends @ grammar.root * automaton.accepting).sum()
        (around,) = torch.autograd.grad(total, chances)
    whole = seen[0][-1] @ grammar.root * automaton.accepting[states[-1]] if seen else total.new_zeros(())
    return (grammar.emission * around[automaton.classes]).sum(1), whole.detach()


def _seen(grammar: Rules, words: Tensor) -> list[Tensor]:
    """Return the table ``seen[i][j, A]`` of known words ``(t, s + p)``; 0 for j <= i."""
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
    """Return the table ``open[i]`` of one position i, ``(left, q, s + p)``.

    Args:
        grammar: The grammar.
        automaton: The automaton.
        left: The largest number of words to come.
        first: At the position after all known words, a list of one row ``(q, s + p)`` for a single future word;
            else empty.
        joined: ``(left, q, s + p, s + p)``, the pairs of a span of known words and the ``open`` span after it;
            None at the position after all known words.
    """
    rows = list(first)
    while len(rows) < left:
        pairs = [] if joined is None else [joined[len(rows)]]
        if rows:
            free = automaton.free[: len(rows)].flip(0)
            pairs.append(torch.einsum("lxb,lxyc->ybc", torch.stack(rows), free))
        rows.append(grammar.joined(torch.stack(pairs).sum(0)))
    return torch.stack(rows)
