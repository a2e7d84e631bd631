"""The predicted class of a pair of sentences, with their alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from strukt.data.classes.pairs import Pair
from strukt.data.sentence import Sentence
from strukt.tasks.common.classes.prediction import ClassPrediction
from strukt.tasks.common.sentences import require_format
from strukt.viz import HeatMap


@dataclass(frozen=True)
class EntailmentPrediction(ClassPrediction):
    """The predicted class of a pair of sentences, and the alignment that led to it.

    Attributes:
        weights: The alignment weight of each word of the premise (row) with each word of the hypothesis (column).
            Other attributes are those of `ClassPrediction`.
    """

    weights: Sequence[Sequence[float]]

    @override
    def diagram(self, sentence: Sentence) -> HeatMap:
        """Draw the alignment: a row for each word of the premise, a column for each word of the hypothesis."""
        pair, label = pair_of(sentence), self.ranking[0]
        title = f"{label} ({self.probabilities[label]:.2f})"
        return HeatMap(title, pair.premise, pair.hypothesis, self.weights)


def pair_of(sentence: Sentence) -> Pair:
    """Return the sentence as a pair of sentences.

    Raises:
        DataError: If it is not a pair.
    """
    return require_format(sentence, Pair, "the model needs pairs of sentences")
