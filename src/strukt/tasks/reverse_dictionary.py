"""The reverse dictionary: a ranking of words for each definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.metrics.ranks import Ranks
from strukt.tasks.classifier import DRAWN, Classifier, ClassPrediction
from strukt.tasks.dictionary import Config
from strukt.tasks.prediction import Prediction
from strukt.viz.heat_map import HeatMap

NOTED = 10
"""How many words are written, the most probable ones, where probabilities are."""


@dataclass(frozen=True)
class DefinedWords(ClassPrediction):
    """The words that a definition may define."""

    @property
    @override
    def notes(self) -> dict[str, str]:
        """The probability of the most probable word, and those after it with theirs, by their ranks."""
        others = enumerate(self.ranking[1:NOTED], 2)
        return super().notes | {str(rank): f"{word} {self._written(word)}" for rank, word in others}

    @override
    def diagram(self, sentence: Sentence) -> HeatMap:
        """The most probable words, in their order."""
        return self._drawn("word", self.ranking[:DRAWN])


class ReverseDictionary(Classifier):
    """Ranks the words that a definition may define.

    Source: Hill, Cho, Korhonen and Bengio (2016), "Learning to understand phrases by embedding the dictionary";
    with the likelihood of the word among all in place of the distance to a given vector of it.
    """

    task: ClassVar[str] = "dictionary"
    config: Config
    prediction: ClassVar[type[ClassPrediction]] = DefinedWords

    @property
    @override
    def selection(self) -> str:
        return "accuracy@10"

    @override
    def metric(self) -> Ranks:  # type: ignore[override]
        """Shares of definitions whose word is among the first 1, 10 and 100, and its median rank."""
        return Ranks()

    @override
    def compared(self, gold: Sentence, prediction: Prediction) -> list[str]:
        """The words of the training corpus, the most probable first."""
        assert isinstance(prediction, ClassPrediction)
        return prediction.ranking
