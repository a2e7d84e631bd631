"""The classifier: a vector for each sentence, and a score for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from strukt.data import classes
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import END, Vocabulary
from strukt.errors import DataError
from strukt.metrics.accuracy import Accuracy
from strukt.tasks.batch import Batch
from strukt.tasks.classify import Config
from strukt.tasks.prediction import DIGITS
from strukt.tasks.sentence_model import SentenceModel
from strukt.viz.heat_map import HeatMap


@dataclass(frozen=True)
class ClassPrediction:
    """The class of a sentence.

    Attributes:
        probabilities: Of each class.
        with_note: Whether the probability of the class is written behind the words.
    """

    probabilities: Mapping[str, float]
    with_note: bool
    shares: ClassVar[Mapping[str, tuple[int, int]]] = MappingProxyType({})

    def annotate(self, sentence: Sentence) -> Sentence:
        """Puts the most probable class before the words."""
        label = max(self.probabilities, key=self.probabilities.__getitem__)
        notes = {"p": f"{self.probabilities[label]:.{DIGITS}f}"} if self.with_note else {}
        return sentence.annotated(label=label, **notes)

    def diagram(self, sentence: Sentence) -> HeatMap:  # noqa: ARG002
        """How probable each class is."""
        names = list(self.probabilities)
        return HeatMap("probability of each class", ["p"], names, [list(self.probabilities.values())])


class Classifier(SentenceModel):
    """Predicts the class of each sentence."""

    task: ClassVar[str] = "classify"
    config: Config

    def __init__(
        self, config: Config, vocabularies: dict[str, Vocabulary], assets: Path | None = None
    ) -> None:
        super().__init__(config, vocabularies, assets)
        self.dropout = nn.Dropout(config.encoder.dropout)
        self.score = nn.Linear(self.encoder.sentence_size, len(vocabularies["labels"]))

    @classmethod
    @override
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """All sentences."""
        return sentences

    @classmethod
    @override
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """The classes."""
        labels = Vocabulary.labels(_label(sentence) for sentence in sentences)
        if len(labels) < 2:
            found = ", ".join(labels.symbols) or "none"
            raise DataError(f"expected sentences of at least two classes, found {found}", config.train)
        return {"labels": labels}

    @classmethod
    @override
    def forms_of(cls, config: Config, sentence: Sentence) -> list[str]:
        """The words, and without a root one at the end that stands for all of them."""
        return sentence.forms if config.encoder.has_root else [*sentence.forms, END]

    @property
    @override
    def selection(self) -> str:
        return "accuracy"

    @override
    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """`label` `(1,)`."""
        return {"label": torch.tensor(self.vocabularies["labels"].indices(self.observed(sentence)))}

    @override
    def loss(self, batch: Batch) -> Tensor:
        """The mean negative log-likelihood of a sentence's class."""
        return functional.cross_entropy(self._scores(batch), batch.targets["label"].squeeze(1))

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[ClassPrediction]:
        rows = self._scores(batch).softmax(-1).tolist()
        symbols = self.vocabularies["labels"].symbols
        return [ClassPrediction(dict(zip(symbols, row, strict=True)), probabilities) for row in rows]

    @override
    def metric(self) -> Accuracy:
        """The share of sentences with the right class."""
        return Accuracy()

    @override
    def observed(self, sentence: Sentence) -> list[str]:
        """The class."""
        return [_label(sentence)]

    def _scores(self, batch: Batch) -> Tensor:
        scores: Tensor = self.score(self.dropout(self.encoder.of_sentences(batch.inputs, batch.lengths)))
        return scores.float()


def _label(sentence: Sentence) -> str:
    assert isinstance(sentence, classes.Sentence)
    if sentence.label is None:
        raise classes.missing(sentence).error()
    return sentence.label
