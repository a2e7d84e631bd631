"""Regular expressions over the text of tokens, compiled to automata."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.automata.automaton import Automaton
from strukt.automata.languages import any_of, phrase

ESCAPES = "dDwWsSnrtfv"
"""The letters that may follow a backslash; other letters and digits would be anchors, references or unknown."""


def matching(pattern: str, spellings: Sequence[str | None], separator: str = "") -> Automaton:
    r"""Return the set of token sequences whose text is a full match of a regular expression.

    A text that matches is in the set however it is split into tokens.

    Args:
        pattern: A regular expression in the syntax of Python's ``re``, with ``. [ ] ( ) (?: ) | * + ? { }``, and
            backslashes before punctuation and before ``d w s D W S n r t f v``; without anchors, references and
            lookaround.
        spellings: The text of each of the v tokens; None for a token that must not occur, such as a special one.
        separator: The text between tokens, such as a space between words.

    Raises:
        ValueError: If the pattern is malformed, nested too deeply or uses other syntax, ``spellings`` is empty, or
            an argument has another type.

    Complexity:
        For a pattern of m characters, O(m) operations on automata over characters; then O(q v l) for the resulting
        automaton of q states and v tokens of at most l characters, separators included.

    Examples:
        >>> words = [None, "a", "the", "dog", "cat", "big"]
        >>> sentence = matching("(a|the) (big )*(dog|cat)", words, separator=" ")
        >>> sentence.accepts([1, 5, 5, 4]), sentence.accepts([1, 5])
        (True, False)
        >>> year = matching(r"in [12]\d{3}", ["in", " ", "19", "18", "4", "49"])
        >>> year.accepts([0, 1, 2, 5]), year.accepts([0, 1, 3, 4, 4])
        (True, True)
    """
    if not isinstance(pattern, str):
        raise ValueError(f"pattern is a {type(pattern).__name__}; expected a str")
    if not spellings:
        raise ValueError("spellings is empty; expected the text of each token")
    for place, text in enumerate(spellings):
        if not isinstance(text, (str, type(None))):
            raise ValueError(f"spellings[{place}] is {text!r}; expected a str, or None")
    if not isinstance(separator, str):
        raise ValueError(f"separator is {separator!r}; expected a str")
    # The extra character makes the alphabet non-empty; it changes nothing, even if no token contains it.
    alphabet = "".join(sorted({*separator, *"".join(text for text in spellings if text), "\0"}))
    try:
        re.compile(pattern)
        automaton = _Parser(pattern, alphabet).alternatives()
    except (re.error, OverflowError) as error:  # the latter for a number of repetitions
        raise ValueError(f"pattern is {pattern!r}, which is malformed: {error}") from None
    except RecursionError:
        raise ValueError("pattern has groups within groups, deeper than Python can recurse") from None
    return _of_tokens(automaton, alphabet, spellings, separator)


class _Parser:
    """Recursive-descent parser of well-formed patterns to automata over the characters of an alphabet.

    All methods read from ``place`` on, and move it past the text that they have read.
    """

    def __init__(self, pattern: str, alphabet: str) -> None:
        self.pattern, self.alphabet, self.place = pattern, alphabet, 0

    def alternatives(self) -> Automaton:
        """Return the automaton of the pattern up to a closing bracket or the end: sequences between bars."""
        result = self._sequence()
        while self._taken("|"):
            result = result | self._sequence()
        return result

    def _sequence(self) -> Automaton:
        """Return the automaton of the pattern up to a bar, a closing bracket or the end."""
        result = phrase([], len(self.alphabet))
        while self.place < len(self.pattern) and self.pattern[self.place] not in "|)":
            result = result + self._repeated()
        return result

    def _repeated(self) -> Automaton:
        """Return the automaton of an atom with all its repetitions, such as ``*`` or ``{2,3}``."""
        result = self._atom()
        while match := self._matched(r"[*+?]|\{(\d*)(,?)(\d*)\}"):
            if match[0] in "*+?":
                least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[match[0]]
            elif not match[1] + match[3]:
                raise self._unknown(match.start())  # {} and {,} are plain text in some versions of Python
            else:
                least = int(match[1] or 0)
                most = int(match[3]) if match[3] else None if match[2] else least
            result = result.repeat(least, most)
            self._matched(r"\?")  # laziness changes which match is preferred, not which texts match
            if self.pattern[self.place :].startswith("+"):
                raise self._unknown(self.place)
        return result

    def _atom(self) -> Automaton:
        """Return the automaton of a group, a set of characters, or a single character."""
        begin = self.place
        if self._taken("("):
            self._matched(r"\?:")
            if self._taken("?"):
                raise self._unknown(begin)
            result = self.alternatives()
            self._taken(")")
            return result
        match = self._matched(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.")
        assert match is not None
        if match[0] in "^$*+?{" or (match[0][0] == "\\" and _is_special(match[0][1])):
            raise self._unknown(begin)
        fits = re.compile(match[0]).fullmatch
        return any_of([at for at, letter in enumerate(self.alphabet) if fits(letter)], len(self.alphabet))

    def _taken(self, text: str) -> bool:
        """Return True, and move past ``text``, if the pattern continues with it."""
        return self._matched(re.escape(text)) is not None

    def _matched(self, pattern: str) -> re.Match[str] | None:
        """Match a regular expression at the current place; move past the match, if any, and return it."""
        result = re.compile(pattern, re.DOTALL).match(self.pattern, self.place)
        self.place = result.end() if result else self.place
        return result

    def _unknown(self, place: int) -> ValueError:
        """Return the error for syntax at a place that is not supported."""
        return ValueError(
            f"pattern is {self.pattern!r}, with {self.pattern[place : place + 2]!r} at {place}; expected only "
            ". [ ] ( ) (?: ) | * + ? {m,n} and \\ before punctuation or before d w s D W S n r t f v"
        )


def _is_special(letter: str) -> bool:
    """Return True for a letter or digit that must not follow a backslash."""
    return letter.isalnum() and letter not in ESCAPES


def _of_tokens(
    automaton: Automaton, alphabet: str, spellings: Sequence[str | None], separator: str
) -> Automaton:
    """Convert an automaton over characters to one over tokens, which reads all characters of a token at once.

    An extra initial state reads the first token, which has no separator before it.
    """
    first, states = torch.zeros(1, dtype=torch.long), torch.arange(automaton.states + 1)
    later = [None if spelling is None else separator + spelling for spelling in spellings]
    rows = [_after(automaton, first, spellings, alphabet), _after(automaton, states, later, alphabet)]
    transitions = torch.cat(rows) + 1
    accepting = torch.cat([automaton.accepting[:1], automaton.accepting, torch.tensor([False])])
    return Automaton(transitions, accepting, torch.arange(len(spellings)))


def _after(automaton: Automaton, states: Tensor, texts: Sequence[str | None], alphabet: str) -> Tensor:
    """Return the state ``(k, v)`` after reading each of v texts from each of k states; the dead state for None."""
    numbers = {letter: number for number, letter in enumerate(alphabet)}
    dead = automaton.states
    read = [text or "" for text in texts]
    states = states.unsqueeze(1).expand(-1, len(texts))
    states = torch.where(torch.tensor([text is None for text in texts]), dead, states)
    transitions = torch.cat([automaton.transitions, torch.full_like(automaton.transitions[:1], dead)])
    for place in range(max(map(len, read))):
        longer = torch.tensor([len(text) > place for text in read])
        letters = torch.tensor([numbers[text[place]] for text in read if len(text) > place])
        states = states.clone()
        states[:, longer] = transitions[states[:, longer], automaton.classes[letters]]
    return states
