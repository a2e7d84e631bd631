"""Inputs of prediction: sentences, strings of plain text, and lists of words."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from strukt.data.files import Source
from strukt.data.sentence import Sentence
from strukt.errors import SettingError

Inputs = str | Iterable[Sentence | str | list[str]]
"""A string of plain text, or sentences, strings and lists of words."""


def sentences_of(inputs: Inputs, read_text: Callable[[Source], Iterator[Sentence]]) -> Iterator[Sentence]:
    """Yield the sentences of inputs, converting strings and lists of words.

    Args:
        inputs: A string has a sentence on each line, its words separated by white space; a list of words is a
            sentence.
        read_text: Reads sentences from plain text.

    Raises:
        DataError: If a string or a list holds no word.
        SettingError: If `inputs` cannot be iterated over; if an item is not a sentence, a string or a list of
            words; or if a word of a list is empty or has white space.

    Examples:
        >>> from strukt.data import text
        >>> [sentence.forms for sentence in sentences_of(["It works", ["So", "there"]], text.read)]
        [['It', 'works'], ['So', 'there']]
    """
    if not isinstance(inputs, Iterable):
        raise SettingError(f"sentences is {inputs!r}; expected text, or a list of sentences")
    for each in [inputs] if isinstance(inputs, str) else inputs:
        if isinstance(each, Sentence):
            yield each
        else:
            yield from read_text(io.StringIO(each if isinstance(each, str) else _joined(each)))


def _joined(words: object) -> str:
    """Return a list of words as plain text."""
    each: list[Any] = list(words) if isinstance(words, (list, tuple)) else [None]
    if not all(isinstance(word, str) and len(word.split()) == 1 for word in each):
        raise SettingError(
            f"a sentence is {words!r}; expected text (with a TAB between the two sentences of a pair), a list of "
            "words, or a sentence of a corpus, as readers of strukt.data return it"
        )
    return " ".join(each)
