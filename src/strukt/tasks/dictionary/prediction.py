"""The predicted words of a definition, ranked."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.tasks.common.classes.prediction import DRAWN, ClassPrediction
from strukt.viz import HeatMap

NOTED = 10
"""Number of words, the most probable first, that are written with their probabilities."""


@dataclass(frozen=True)
class DefinedWords(ClassPrediction):
    """The words that a definition may define, with their probabilities."""

    @property
    @override
    def notes(self) -> dict[str, str]:
        """The probability of the best word as `p`, and the next words with theirs, by rank from `2` to `10`."""
        others = enumerate(self.ranking[1:NOTED], 2)
        return super().notes | {str(rank): f"{word} {self._written(word)}" for rank, word in others}

    @override
    def diagram(self, sentence: Sentence) -> HeatMap:
        """Draw the most probable words, in order of probability."""
        return self._drawn("probability of each word", "p", self.ranking[:DRAWN])


@dataclass(frozen=True)
class NearWords(DefinedWords):
    """The words that a definition may define, with the cosine of the definition and each word's vector."""

    @property
    @override
    def notes(self) -> dict[str, str]:
        """The cosine of the nearest word as `cos`, and the next words with theirs, by rank from `2` to `10`."""
        notes = super().notes
        return {"cos": notes.pop("p")} | notes

    @override
    def diagram(self, sentence: Sentence) -> HeatMap:
        """Draw the nearest words, in order of their cosines."""
        return self._drawn("cosine with each word", "cos", self.ranking[:DRAWN])
