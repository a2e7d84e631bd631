"""Classification: one class for each sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strukt.data import corpus
from strukt.tasks.config import TaskConfig

if TYPE_CHECKING:
    from strukt.tasks.classifier import Classifier

SUMMARY = "a class for each sentence: its polarity, its intent"
READERS = corpus.CLASSES


@dataclass
class Config(TaskConfig):
    """Options of classification.

    A sentence is classified by the distribution of the label of its root, where `encoder.pt.root_labels` gives one
    to encoders of kind pt, otherwise by the vector of a word that is put at its end.
    """


def model_class() -> type[Classifier]:
    """The model of this task."""
    from strukt.tasks.classifier import Classifier

    return Classifier
