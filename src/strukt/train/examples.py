"""Example inputs from the development corpus, saved with the model for demos."""

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
"""Maximum number of examples."""

FEWEST, SHORT, LONG = 3, 5, 12
"""The minimum length of an example, and the least and greatest preferred lengths, in words."""

Example = tuple[str, ...]
"""A text, or the two texts of a pair."""


def examples_of(model: Model, sentences: Sequence[Sentence]) -> list[Example]:
    """Choose up to 5 example inputs: sentences of 5 to 12 words, spread over the corpus, then the shortest others.

    The choice is deterministic. Sentences of fewer than 3 words are left out, and those that the model's reader of
    plain text would divide into other words.

    Args:
        model: The model, whose reader of plain text is used.
        sentences: The development corpus.
    """
    fitting = [sentence for sentence in sentences if SHORT <= len(sentence.forms) <= LONG]
    spread = fitting[:: max(1, len(fitting) // MOST)]
    others = sorted(
        (each for each in sentences if len(each.forms) >= FEWEST), key=lambda each: len(each.forms)
    )
    examples: dict[Example, None] = {}
    for example in _readable(model, chain(spread, fitting, others)):
        examples[example] = None
        if len(examples) == MOST:
            break
    return list(examples)


def _readable(model: Model, sentences: Iterable[Sentence]) -> Iterator[Example]:
    """Yield each sentence as an example, if the model's reader of plain text divides it into the same words."""
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
