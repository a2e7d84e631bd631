"""Predictions for sentences, which can be written to a file or drawn."""

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
"""Number of decimal places of probabilities in files."""


class Prediction(Protocol):
    """The prediction of a model for one sentence."""

    @property
    def shares(self) -> Mapping[str, tuple[float, float]]:
        """Numerator and denominator of each additional score, by name; both are summed over sentences."""

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the prediction in place of its annotation.

        Args:
            sentence: The sentence that the prediction is for.
        """

    def diagram(self, sentence: Sentence) -> Picture:
        """Draw the prediction for the sentence."""


@dataclass(frozen=True)
class WordPrediction:
    """A prediction for each word, such as tags or heads.

    Attributes:
        columns: The predicted columns by name, each with a value for each word.
        notes: The notes for the MISC column by name, such as probabilities, each with a value for each word.
        shares: See `Prediction`.

    Examples:
        >>> from strukt.data import conllu
        >>> prediction = WordPrediction({"xpos": ["NNS", "VBP"]}, {"p": ["0.9000", "0.8000"]})
        >>> sentence = prediction.annotate(conllu.from_forms(["Dogs", "bark"]))
        >>> sentence.column("xpos"), sentence.column("misc")
        (['NNS', 'VBP'], ['p=0.9000', 'p=0.8000'])
    """

    columns: Mapping[str, Sequence[str | int]]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shares: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the predicted columns in place of its own, and with the notes."""
        annotated = sentence.annotated(**self.columns)
        return annotated.with_misc(**self.notes) if self.notes else annotated

    def diagram(self, sentence: Sentence) -> Diagram:
        """Draw the words of the sentence with their predicted tags and arcs."""
        return diagram_of(self.annotate(sentence))


def probability_notes(probabilities: Tensor) -> list[str]:
    """Format probabilities with `DIGITS` decimal places, as in files.

    Raises:
        ScoresError: If a probability is NaN.

    Examples:
        >>> import torch
        >>> probability_notes(torch.tensor([0.5, 0.99999]))
        ['0.5000', '1.0000']
    """
    return [f"{value:.{DIGITS}f}" for value in not_nan(probabilities).tolist()]


def noted(sentence: Sentence, probabilities: Tensor) -> Sentence:
    """Return the sentence with the probability of each word as a note `p`, with `DIGITS` significant digits.

    Raises:
        ScoresError: If a probability is NaN.
        DataError: If the format of the sentence has no place for notes.

    Examples:
        >>> import torch
        >>> from strukt.data import conllu
        >>> noted(conllu.from_forms(["a", "rare"]), torch.tensor([0.25, 0.00002])).column("misc")
        ['p=0.2500', 'p=2.000e-05']
    """
    digits = [f"{value:#.{DIGITS}g}" for value in not_nan(probabilities).tolist()]
    try:
        return sentence.with_misc(p=digits)
    except ValueError as error:
        raise DataError(str(error), sentence.path, sentence.line) from error


def diagrams_of_heads(sentences: Sequence[Sentence], heads: Tensor) -> list[Diagram]:
    """Draw words with arcs from their heads.

    Args:
        sentences: The sentences of a batch.
        heads: ``(batch, n)``, numbered as in the column HEAD; padding is ignored.
    """
    return [
        Diagram(sentence.forms, heads=row[: len(sentence)].tolist())
        for sentence, row in zip(sentences, heads, strict=True)
    ]
