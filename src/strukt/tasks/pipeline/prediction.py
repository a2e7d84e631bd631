"""The predictions of all components of a pipeline for a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from strukt.data.sentence import Sentence
from strukt.tasks.common.prediction import Prediction, WordPrediction
from strukt.viz.svg import Picture


@dataclass(frozen=True)
class JointPrediction:
    """Predictions of several models for one sentence.

    Attributes:
        parts: The predictions by the names of the models, entities last.
    """

    parts: Mapping[str, Prediction]

    @property
    def shares(self) -> Mapping[str, tuple[float, float]]:
        """The terms of additional scores of all models."""
        return {name: share for part in self.parts.values() for name, share in part.shares.items()}

    def annotate(self, sentence: Sentence) -> Sentence:
        """Replace tags, trees and entities; the columns of all models in one step, which is faster."""
        of_words = [part for part in self.parts.values() if isinstance(part, WordPrediction)]
        others = [part for part in self.parts.values() if not isinstance(part, WordPrediction)]
        for part in ([_merged(of_words)] if of_words else []) + others:
            sentence = part.annotate(sentence)
        return sentence

    def diagram(self, sentence: Sentence) -> Picture:
        """Draw tags and arcs, or entities if neither is predicted."""
        first = next(iter(self.parts.values()))
        return first.diagram(self.annotate(sentence))


def _merged(predictions: Iterable[WordPrediction]) -> WordPrediction:
    """Return one prediction with the columns and notes of all."""
    columns: dict[str, Sequence[str | int]] = {}
    notes: dict[str, Sequence[str]] = {}
    for prediction in predictions:
        columns |= prediction.columns
        notes |= prediction.notes
    return WordPrediction(columns, notes)
