"""Conversion of the text of a request into the sentence that a model reads."""

from __future__ import annotations

import io
import re
import unicodedata
from typing import TYPE_CHECKING

from strukt.data import brackets
from strukt.data.classes import pairs
from strukt.data.text import tokenize
from strukt.errors import StruktError

if TYPE_CHECKING:
    from strukt.data.sentence import Sentence
    from strukt.tasks.common.model import Model

_START = re.compile(r"^[\s\ufeff]+")


class TextError(StruktError):
    """A text cannot be read as a sentence."""


def sentence_of(model: Model, text: str, most: int) -> Sentence:
    r"""Split a text into words, and read them with the reader of the model.

    Args:
        model: The model that is to read the sentence.
        text: Running text; two lines if the model compares two sentences.
        most: Maximum number of words.

    Raises:
        TextError: If the text has no words, too many words or control characters; if it is a tree in brackets, and
            the model reads trees; or if it does not have two lines, and the model compares two sentences.
        DataError: If the reader of the model rejects the words.
    """
    _require_text(text)
    text = _START.sub("", text)  # readers warn of a byte order mark, and would print the text as the name
    reader = model.readers()["text"]
    rows = io.StringIO(text.strip(), newline=None) if reader is pairs.read else [text]
    lines = [tokenize(row) for row in rows]
    if reader is pairs.read and len(lines) != 2:
        count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        raise TextError(f"the text has {count}; expected 2 lines, one for each sentence to compare")
    if not all(lines):
        raise TextError("the text has no words; give a sentence")
    if (words := sum(map(len, lines))) > most:
        raise TextError(f"the text has {words} words; this service reads up to {most}")
    line = "\t".join(map(" ".join, lines))
    if reader is brackets.read_text and brackets.is_tree(line):
        raise TextError("the text is a tree; give its words only")
    stream = io.BytesIO(line.encode())
    stream.name = line  # identifiers of mentions, which must differ between texts, depend on the name of the file
    (sentence,) = reader(stream)
    return sentence


def tokenized(text: str) -> str:
    r"""Separate the tokens of plain text by spaces, as `sentence_of` does; newlines and TABs stay.

    Examples:
        >>> tokenized("It isn't over.\nDogs bark.\tAnimals make noise.")
        "It isn't over .\nDogs bark .\tAnimals make noise ."
    """
    lines = ("\t".join(" ".join(tokenize(cell)) for cell in line.split("\t")) for line in text.split("\n"))
    return "\n".join(lines)


def _require_text(text: str) -> None:
    """Raise TextError if a text has a control character other than white space, or an unpaired surrogate."""
    for place, character in enumerate(text, start=1):
        if unicodedata.category(character) in ("Cc", "Cs") and not character.isspace():
            raise TextError(f"character {place} is U+{ord(character):04X}, which is not text; remove it")
