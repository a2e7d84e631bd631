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
        """Numerator and denominator of each additional score of all models."""
        return {name: share for part in self.parts.values() for name, share in part.shares.items()}

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with predicted tags, trees and entities; set all columns at once, for speed."""
        for part in self._merged_parts():
            sentence = part.annotate(sentence)
        return sentence

    def diagram(self, sentence: Sentence) -> Picture:
        """Draw tags and arcs; draw entities if neither tags nor arcs are predicted."""
        return self._merged_parts()[0].diagram(sentence)

    def _merged_parts(self) -> list[Prediction]:
        """Return a prediction of all tags and arcs, if any are predicted, and the other predictions."""
        of_words = [part for part in self.parts.values() if isinstance(part, WordPrediction)]
        others = [part for part in self.parts.values() if not isinstance(part, WordPrediction)]
        return ([_merged(of_words)] if of_words else []) + others


def _merged(predictions: Iterable[WordPrediction]) -> WordPrediction:
    """Merge the columns and notes of several predictions into one."""
    columns: dict[str, Sequence[str | int]] = {}
    notes: dict[str, Sequence[str]] = {}
    for prediction in predictions:
        columns |= prediction.columns
        notes |= prediction.notes
    return WordPrediction(columns, notes)
