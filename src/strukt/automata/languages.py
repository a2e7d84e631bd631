"""Basic regular languages: single tokens, phrases, texts that contain or avoid phrases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_

import torch

from strukt.automata.automaton import Automaton, as_tokens
from strukt.checks import arguments


def anything(words: int) -> Automaton:
    """Return the set of all sequences of tokens 0 to v - 1, including the empty one.

    Args:
        words: The number of tokens in the vocabulary, v.

    Raises:
        ValueError: If ``words`` is not a positive integer.

    Examples:
        >>> anything(words=2).accepts([1, 0, 1])
        True
    """
    words = arguments.positive_integer("words", words)
    return Automaton(torch.tensor([[0]]), torch.tensor([True]), torch.zeros(words, dtype=torch.long))


def any_of(tokens: Iterable[int], words: int) -> Automaton:
    """Return the set of sequences that consist of one token among ``tokens``.

    Args:
        tokens: The tokens to choose from, in any order; if there are none, the set is empty.
        words: The number of tokens in the vocabulary, v.

    Raises:
        ValueError: If ``words`` is not a positive integer, or a token is not a whole number from 0 to v - 1.

    Examples:
        >>> word = any_of([1, 2], words=4)
        >>> word.accepts([2]), word.accepts([3]), word.accepts([1, 2])
        (True, False, False)
    """
    chosen = sorted(set(as_tokens(tokens, words)))
    classes = torch.zeros(words, dtype=torch.long)
    classes[torch.tensor(chosen, dtype=torch.long)] = 1
    return Automaton(torch.tensor([[2, 1], [2, 2], [2, 2]]), torch.tensor([False, True, False]), classes)


def phrase(tokens: Sequence[int], words: int) -> Automaton:
    """Return the set that contains one sequence.

    Args:
        tokens: The tokens of the sequence, in order.
        words: The number of tokens in the vocabulary, v.

    Raises:
        ValueError: If ``words`` is not a positive integer, or a token is not a whole number from 0 to v - 1.

    Examples:
        >>> phrase([2, 0], words=4).accepts([2, 0])
        True
    """
    sequence = as_tokens(tokens, words)
    letters, dead = sorted(set(sequence)), len(sequence) + 1
    classes = torch.zeros(words, dtype=torch.long)
    classes[torch.tensor(letters, dtype=torch.long)] = torch.arange(1, len(letters) + 1)
    transitions = torch.full((dead + 1, len(letters) + 1), dead)
    for place, token in enumerate(sequence):
        transitions[place, classes[token]] = place + 1
    return Automaton(transitions, torch.arange(dead + 1) == len(sequence), classes)


def containing(phrases: Iterable[Sequence[int]], words: int) -> Automaton:
    """Return the set of sequences that contain every phrase, in any order; phrases may overlap.

    For one phrase of m tokens this is the automaton of Knuth, Morris and Pratt (1977), with m + 1 states. For
    several phrases, the number of states is at most the product of these numbers. The sequences with at least one
    of two phrases are ``containing([a], v) | containing([b], v)``.

    Args:
        phrases: The tokens of each phrase; if there are none, every sequence is in the set.
        words: The number of tokens in the vocabulary, v.

    Raises:
        ValueError: If ``words`` is not a positive integer, or a token is not a whole number from 0 to v - 1.

    Examples:
        >>> both = containing([[1, 2], [3]], words=4)
        >>> both.accepts([3, 1, 1, 2]), both.accepts([1, 0, 2, 3])
        (True, False)
    """
    around = anything(words)
    return reduce(and_, (around + phrase(each, words) + around for each in phrases), around)


def avoiding(phrases: Iterable[Sequence[int]], words: int) -> Automaton:
    """Return the set of sequences that contain none of the phrases.

    The number of states is at most that of `containing` for the same phrases.

    Args:
        phrases: The tokens of each phrase; if there are none, every sequence is in the set.
        words: The number of tokens in the vocabulary, v.

    Raises:
        ValueError: If ``words`` is not a positive integer, or a token is not a whole number from 0 to v - 1.

    Examples:
        >>> polite = avoiding([[1, 2], [3]], words=4)
        >>> polite.accepts([1, 0, 2]), polite.accepts([0, 3])
        (True, False)
    """
    return reduce(and_, (~containing([each], words) for each in phrases), anything(words))
