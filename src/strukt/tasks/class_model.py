"""What the models have in common that predict one class of each sentence, or pair of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from strukt.data import classes
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.metrics.classes import ClassAccuracy
from strukt.tasks.sentence_model import SentenceModel


class ClassModel(SentenceModel):
    """A model that predicts the class of each sentence."""

    @classmethod
    @override
    def trainable(cls, config: Any, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """All sentences."""
        return sentences

    @classmethod
    @override
    def labels_of(cls, config: Any, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """The classes, of which there must be two."""
        labels = Vocabulary.labels(_label(sentence) for sentence in sentences)
        if len(labels) < 2:
            found = ", ".join(labels.symbols) or "none"
            raise DataError(f"expected sentences of at least two classes, found {found}", config.train)
        return {"labels": labels}

    @property
    @override
    def selection(self) -> str:
        return "accuracy"

    @override
    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """`label` `(1,)`."""
        return {"label": torch.tensor(self.vocabularies["labels"].indices([_label(sentence)]))}

    @override
    def metric(self) -> ClassAccuracy:
        """The share of sentences with the right class, and of each class."""
        return ClassAccuracy()

    @override
    def observed(self, sentence: Sentence) -> list[str]:
        """The class."""
        return [_label(sentence)]


def _label(sentence: Sentence) -> str:
    assert isinstance(sentence, classes.Sentence)
    if sentence.label is None:
        raise classes.missing(sentence).error()
    return sentence.label
