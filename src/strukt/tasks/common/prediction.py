"""Predictions for a sentence, which are written to a file or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from strukt.data.sentence import Sentence
from strukt.errors import DataError
from strukt.tasks.common.scores import not_nan
from strukt.viz import Diagram
from strukt.viz.sentences import diagram_of
from strukt.viz.svg import Picture

DIGITS = 4
"""The digits of probabilities that are written to files."""


class Prediction(Protocol):
    """The prediction of a model for one sentence."""

    @property
    def shares(self) -> Mapping[str, tuple[float, float]]:
        """The terms of further scores, by name: a sum, and the number that it is divided by."""

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the prediction in the place of its annotation."""

    def diagram(self, sentence: Sentence) -> Picture:
        """Draw the prediction."""


@dataclass(frozen=True)
class WordPrediction:
    """A prediction for each word: tags, heads.

    Attributes:
        columns: Values of the predicted columns.
        notes: Probabilities, for the MISC column.
        shares: See `Prediction`.
    """

    columns: Mapping[str, Sequence[str | int]]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shares: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def annotate(self, sentence: Sentence) -> Sentence:
        """Replace the columns and add the notes."""
        annotated = sentence.annotated(**self.columns)
        return annotated.with_misc(**self.notes) if self.notes else annotated

    def diagram(self, sentence: Sentence) -> Diagram:
        """Draw words with tags, or with arcs."""
        return diagram_of(self.annotate(sentence))


def probability_notes(probabilities: Tensor) -> list[str]:
    """Write probabilities as files have them.

    Raises:
        ScoresError: NaN is among them.

    Examples:
        >>> import torch
        >>> probability_notes(torch.tensor([0.5, 0.99999]))
        ['0.5000', '1.0000']
    """
    return [f"{value:.{DIGITS}f}" for value in not_nan(probabilities).tolist()]


def noted(sentence: Sentence, probabilities: Tensor) -> Sentence:
    """Note the probabilities of its words in a sentence.

    Raises:
        DataError: Its format has no place for them.
    """
    try:
        return sentence.with_misc(p=probability_notes(probabilities))
    except ValueError as error:
        raise DataError(str(error), sentence.path, sentence.line) from error


def diagrams_of_heads(sentences: Sequence[Sentence], heads: Tensor) -> list[Diagram]:
    """Draw words with arcs from their heads.

    Args:
        sentences: A batch.
        heads: ``(batch, n)``, as in a HEAD column; what stands beyond the words is ignored.
    """
    return [
        Diagram(sentence.forms, heads=row[: len(sentence)].tolist())
        for sentence, row in zip(sentences, heads, strict=True)
    ]
