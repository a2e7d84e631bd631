"""Finite automata (DFA) over tokens: membership, union, intersection, complement, concatenation, repetition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.automata.minimal import Table, distinct, explored, smallest
from strukt.checks import arguments


class Automaton:
    """A regular language: a set of sequences of tokens 0 to v - 1, as its minimal deterministic automaton (DFA).

    Args:
        transitions: ``(q, c)``, the next state for each of q states and c classes of tokens. State 0 is initial.
        accepting: ``(q,)``, Boolean; a sequence is in the set if it ends in an accepting state.
        classes: ``(v,)``, the class of each token, 0 to c - 1. Tokens of one class have the same transitions, so
            that the table stays small for large vocabularies.

    ``a & b``, ``a | b`` and ``~a`` are the intersection, union and complement, ``a + b`` is the concatenation, and
    `repeat` the concatenation with itself. ``==`` compares the sets. All results are new, minimised automata;
    minimisation (Moore 1956) takes at most q passes over the table. An intersection or union has at most as many
    states as the product of the operands' numbers of states. A concatenation or repetition has exponentially many
    in the worst case, but usually few.

    Attributes:
        transitions: ``(q, c)``, the transitions of the minimal automaton; no two classes have equal transitions.
        accepting: ``(q,)``, the accepting states of the minimal automaton.
        classes: ``(v,)``, the class of each token in the minimal automaton.

    Raises:
        ValueError: If shapes, types or values do not fit, a tensor is not on the CPU, or the operands of ``&``,
            ``|`` or ``+`` have different numbers of tokens.
        TypeError: If an operand of ``&``, ``|`` or ``+`` is not an automaton.

    Examples:
        >>> even = Automaton(torch.tensor([[0, 1], [1, 0]]), torch.tensor([True, False]), torch.tensor([0, 0, 1]))
        >>> even.accepts([0, 2, 1, 2]), even.accepts([2, 0])  # an even number of twos
        (True, False)
        >>> (even & ~even).empty, even | ~even == even, (even + even) == even
        (True, False, True)
    """

    def __init__(self, transitions: Tensor, accepting: Tensor, classes: Tensor) -> None:
        arguments.integers("transitions", transitions, "(q, c)", torch.device("cpu"))
        arguments.integers("classes", classes, "(v,)", torch.device("cpu"))
        if transitions.dim() != 2 or classes.dim() != 1 or not transitions.numel() or not classes.numel():
            raise ValueError(
                f"the shapes do not fit together: transitions {tuple(transitions.shape)}, classes "
                f"{tuple(classes.shape)}; expected (q, c) and (v,), all at least 1"
            )
        arguments.mask("accepting", accepting, transitions.shape[:1])
        for name, value, count in (
            ("transitions", transitions, transitions.shape[0]),
            ("classes", classes, transitions.shape[1]),
        ):
            if value.min() < 0 or value.max() >= count:
                raise ValueError(f"{name} holds {value.min()} to {value.max()}; expected 0 to {count - 1}")
        table = smallest(Table(transitions.long(), accepting, classes.long()))
        self.transitions, self.accepting, self.classes = table

    @property
    def states(self) -> int:
        """The number of states, q."""
        return self.transitions.shape[0]

    @property
    def words(self) -> int:
        """The number of tokens, v."""
        return self.classes.shape[0]

    @property
    def empty(self) -> bool:
        """True if no sequence is accepted."""
        return not bool(self.accepting.any())

    def after(self, states: Tensor, tokens: Tensor) -> Tensor:
        """Return the next states ``(*,)`` for states ``(*,)`` and tokens ``(*,)``, which are not checked."""
        return self.transitions[states, self.classes[tokens]]

    def accepts(self, tokens: Sequence[int] | Tensor) -> bool:
        """Return True if a sequence ``(n,)`` of tokens is in the set.

        Raises:
            ValueError: If a token is not a whole number from 0 to v - 1.
        """
        state = torch.tensor(0)
        for token in as_tokens(tokens, self.words):
            state = self.after(state, torch.tensor(token))
        return bool(self.accepting[state])

    def __and__(self, other: Automaton) -> Self:
        return self._paired(other, lambda one, another: one and another)

    def __or__(self, other: Automaton) -> Self:
        return self._paired(other, lambda one, another: one or another)

    def __invert__(self) -> Self:
        return type(self)(self.transitions, ~self.accepting, self.classes)

    def __add__(self, other: Automaton) -> Self:
        mine, theirs, classes = self._tables(other)
        ends, ends_theirs = self.accepting.tolist(), other.accepting.tolist()

        def entered(state: int, others: frozenset[int]) -> tuple[int, frozenset[int]]:
            return state, others | {0} if ends[state] else others

        return type(self)(
            *explored(
                entered(0, frozenset()),
                lambda pair, letter: entered(
                    mine[pair[0]][letter], frozenset(theirs[state][letter] for state in pair[1])
                ),
                lambda pair: any(ends_theirs[state] for state in pair[1]),
                classes,
            )
        )

    def repeat(self, least: int = 0, most: int | None = None) -> Self:
        """Return the set of all concatenations of ``least`` to ``most`` sequences of this set.

        Args:
            least: The minimum number of sequences; with 0, the empty sequence is in the result.
            most: The maximum number of sequences; None for any number.

        Raises:
            ValueError: If ``least`` or ``most`` is not an integer, ``least`` is negative, or ``most`` is less than
                ``least``.

        Examples:
            >>> from strukt.automata import phrase
            >>> twice = phrase([0, 1], words=2).repeat(least=2)
            >>> twice.accepts([0, 1]), twice.accepts([0, 1, 0, 1, 0, 1])
            (False, True)
        """
        counts = [0, least] if most is None else [0, least, most]
        if not all(map(arguments.is_integer, counts)) or counts != sorted(counts):
            raise ValueError(f"least is {least!r} and most {most!r}; expected integers, 0 <= least <= most")
        if most is None:
            return self._power(least) + (self._power(0) | self._once_or_more())
        return self._power(least) + (self._power(0) | self)._power(most - least)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Automaton):
            return NotImplemented
        return all(torch.equal(getattr(self, name), getattr(other, name)) for name in Table._fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(states: {self.states}, words: {self.words})"

    def _power(self, count: int) -> Self:
        """Return the concatenation of ``count`` sequences, by O(log count) concatenations."""
        empty_sequence = torch.tensor([[1], [1]]), torch.tensor([True, False]), torch.zeros_like(self.classes)
        result, power = type(self)(*empty_sequence), self  # the power is of 1, 2, 4, ... sequences
        while count:
            if count % 2:
                result = power + result
            count //= 2
            power = power + power if count else power
        return result

    def _once_or_more(self) -> Self:
        """Return the set of all concatenations of one or more sequences, by the subset construction."""
        rows, ends = self.transitions.tolist(), self.accepting.tolist()

        def step(states: frozenset[int], letter: int) -> frozenset[int]:
            after = frozenset(rows[state][letter] for state in states)
            return after | {0} if any(ends[state] for state in after) else after

        def accepts(states: frozenset[int]) -> bool:
            return any(ends[state] for state in states)

        return type(self)(*explored(frozenset([0]), step, accepts, self.classes))

    def _paired(self, other: Automaton, accepts: Callable[[bool, bool], bool]) -> Self:
        """Return the product automaton.

        From two Booleans, True if each state of a pair is accepting, ``accepts`` computes that of the pair.
        """
        mine, theirs, classes = self._tables(other)
        ends, ends_theirs = self.accepting.tolist(), other.accepting.tolist()
        return type(self)(
            *explored(
                (0, 0),
                lambda pair, letter: (mine[pair[0]][letter], theirs[pair[1]][letter]),
                lambda pair: accepts(ends[pair[0]], ends_theirs[pair[1]]),
                classes,
            )
        )

    def _tables(self, other: Automaton) -> tuple[list[list[int]], list[list[int]], Tensor]:
        """Return the transitions of both automata over common classes of tokens, and these classes."""
        if not isinstance(other, Automaton):
            raise TypeError(f"the operand is a {type(other).__name__}; expected an Automaton, such as a phrase")
        if self.words != other.words:
            raise ValueError(
                f"the automata are over {self.words} and {other.words} tokens; expected the same number"
            )
        width = other.transitions.shape[1]
        pairs, classes = distinct(self.classes * width + other.classes)
        mine, theirs = self.transitions[:, pairs // width], other.transitions[:, pairs % width]
        return mine.tolist(), theirs.tolist(), classes


def as_tokens(tokens: Any, words: int) -> list[int]:
    """Return tokens as a list of numbers.

    Args:
        tokens: Any iterable of whole numbers, or a tensor ``(n,)``.
        words: The number of tokens in the vocabulary, v.

    Raises:
        ValueError: If ``words`` is not a positive integer, ``tokens`` does not hold whole numbers, or a token is
            not in 0 to v - 1.

    Examples:
        >>> as_tokens(torch.tensor([2, 0]), words=4)
        [2, 0]
    """
    words = arguments.positive_integer("words", words)
    if isinstance(tokens, str) or not isinstance(tokens, Iterable):
        raise ValueError(f"tokens is {tokens!r}; expected a sequence of tokens, such as [0, {words - 1}]")
    try:
        numbers = [operator.index(token) for token in tokens]
    except TypeError as error:
        raise ValueError(f"tokens is {tokens!r}; expected whole numbers ({error})") from None
    for number in numbers:
        if not 0 <= number < words:
            raise ValueError(f"tokens holds {number}; expected tokens from 0 to {words - 1}")
    return numbers
