"""A few inputs of the development corpus that a saved model carries, to be shown by those who try it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from strukt.data import text
from strukt.data.classes import pairs
from strukt.data.sentence import Sentence
from strukt.errors import StruktError

if TYPE_CHECKING:
    from strukt.tasks.common.model import Model

MOST = 5
"""Examples of a model, at most."""

FEWEST, SHORT, LONG = 3, 5, 12
"""Words below which there is nothing to see, and those of a sentence that fits everywhere."""

Example = tuple[str, ...]
"""A text, or the two texts of a pair."""


def examples_of(model: Model, sentences: Sequence[Sentence]) -> list[Example]:
    """Inputs that read well: of 5 to 12 words, from all over the corpus; else the shortest of at least three.

    The choice depends on the corpus alone. Only texts that the model reads as the same words are taken.

    Args:
        model: Its reader of plain text is asked.
        sentences: The development corpus.
    """
    fitting = [sentence for sentence in sentences if SHORT <= len(sentence.forms) <= LONG]
    spread = fitting[:: max(1, len(fitting) // MOST)]
    others = sorted(
        (each for each in sentences if len(each.forms) >= FEWEST), key=lambda each: len(each.forms)
    )
    found: dict[Example, None] = {}
    for example in _readable(model, chain(spread, fitting, others)):
        found[example] = None
        if len(found) == MOST:
            break
    return list(found)


def _readable(model: Model, sentences: Iterable[Sentence]) -> Iterator[Example]:
    read = model.readers()["text"]
    for sentence in sentences:
        parts = (
            [sentence.premise, sentence.hypothesis] if isinstance(sentence, pairs.Pair) else [sentence.forms]
        )
        example = tuple(map(" ".join, parts))
        line = "\t".join(" ".join(text.tokenize(part)) for part in example)
        try:
            again = [each.forms for each in read(io.BytesIO(line.encode()))]
        except (StruktError, UnicodeError):
            continue
        if again == [sentence.forms]:
            yield example
