"""Models that predict a class for each sentence, or pair of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.data import classes
from strukt.data.conllu import sentence_labels
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import NonProjectiveTree
from strukt.errors import DataError, SettingError
from strukt.metrics.classes import ClassAccuracy
from strukt.nn import Mixture
from strukt.nn.estimators import Estimator
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.classes.tree_reader import TreeReader
from strukt.tasks.common.mean_loss import Average
from strukt.tasks.common.prediction import diagrams_of_heads
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.sentences import require_format
from strukt.tasks.common.structured_model import StructuredModel, few_of
from strukt.tasks.common.symbols import COLUMN, Forms
from strukt.viz import Diagram

TREES_OPTION = "--latent.tree given"
"""The option to read given trees, for error messages."""


class ClassModel(StructuredModel):
    """A model that predicts the class of each sentence, optionally from dependency trees.

    A subclass sets `task` and `tree_reader`, and implements `loss` and `predict_batch`.

    Attributes:
        tree_reader: Computes vectors of trees; None if the model reads no trees.
    """

    few_hint: ClassVar[str] = (
        "models trained with --model latent-tree have one, unless --latent.estimator is marginals or relaxed, or "
        "--latent.tree is not latent"
    )
    outputs: ClassVar[Forms] = {"labels": COLUMN}
    tree_reader: TreeReader | None

    @classmethod
    @override
    def trainable(cls, config: Any, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return all sentences, after checking their trees if the model reads given trees.

        Raises:
            DataError: If the model reads given trees, and a sentence has none.
        """
        if _reads_trees(config):
            for sentence in sentences:
                cls.heads_of_parts(sentence)
        return sentences

    @staticmethod
    def heads_of_parts(sentence: Sentence, option: str = TREES_OPTION) -> Sequence[list[int]]:
        """Return the heads in the column HEAD, a list for each of the `parts` of a sentence.

        A sentence has one part; a pair of sentences has two.

        Args:
            sentence: A sentence of a CoNLL-U file.
            option: The option that needs the trees, for error messages.

        Raises:
            DataError: If there is no column HEAD, or it is not a tree.
        """
        message = (
            f"{option} reads the trees of CoNLL-U files, and running text has none; give a file such as "
            "FILE.conllu (to annotate one: strukt predict MODEL FILE.conllu)"
        )
        labelled = require_format(sentence, sentence_labels.Sentence, message)
        for problem in labelled.head_problems():
            raise problem.error()
        return [labelled.plain.heads]

    @override
    def require_usable(self, sentence: Sentence) -> None:
        """Raise a DataError if the model reads given trees and the sentence has none."""
        if _reads_trees(self.config):
            self.heads_of_parts(sentence)

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError if the sentence has no class, or has no tree and the model reads given trees."""
        super().require_annotated(sentence)
        self.require_usable(sentence)

    @classmethod
    @override
    def labels_of(cls, config: Any, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the vocabulary of classes, `labels`.

        Raises:
            DataError: If the corpus has fewer than two classes, or a sentence has none.
        """
        labels = Vocabulary.labels(label_of(sentence) for sentence in sentences)
        if len(labels) < 2:
            present = ", ".join(labels.symbols) or "none"
            raise DataError(f"expected sentences of at least two classes, found {present}", config.train)
        return {"labels": labels}

    @property
    @override
    def mean_over(self) -> Average:
        return "sentences"

    @property
    @override
    def selection(self) -> str:
        return "accuracy"

    @override
    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return `label`, the index of the class, ``(1,)``."""
        return {"label": torch.tensor(self.vocabularies["labels"].indices([label_of(sentence)]))}

    def named(self, log_probs: Tensor) -> list[dict[str, float]]:
        """Return the probabilities of classes by name, a dictionary for each sentence.

        Args:
            log_probs: ``(batch, classes)``, the log-probabilities of classes.
        """
        symbols = self.vocabularies["labels"].symbols
        return [dict(zip(symbols, row, strict=True)) for row in not_nan(log_probs).exp().tolist()]

    @property
    @override
    def few(self) -> Estimator | None:
        return None if self.tree_reader is None else few_of(self.tree_reader.estimator)

    @override
    def distribution_of(self, batch: Batch) -> NonProjectiveTree:
        """Return the distribution over latent trees.

        Raises:
            SettingError: If the model has no latent trees.
        """
        if self.tree_reader is None or self.tree_reader.scorer is None:
            raise SettingError("the model has no latent trees; train with --model latent-tree")
        vectors = self.encoder(batch.inputs, batch.lengths)
        trees: NonProjectiveTree = self.tree_reader.trees(vectors, batch.lengths)
        return trees

    def _of_trees(self, reader: TreeReader, batch: Batch) -> Mixture:
        """Return the vectors of sentences, one for each tree that the reader reads; all first parts come first."""
        heads = None
        if _reads_trees(self.config):
            by_part = zip(*map(self.heads_of_parts, batch.sentences), strict=True)
            rows = [torch.tensor(row) for part in by_part for row in part]
            heads = pad_sequence(rows, True, -1).to(batch.lengths.device)
        mixture: Mixture = reader(self.encoder(batch.inputs, batch.lengths), batch.lengths, heads)
        return mixture

    @override
    def given(self, sentence: Sentence) -> list[Tensor]:
        """Return the heads in the column HEAD of each of the `parts` of a sentence, ``(n,)`` each."""
        return [torch.tensor(heads) for heads in self.heads_of_parts(sentence, "--against")]

    @override
    def drawn(self, batch: Batch, events: Tensor) -> list[Diagram]:
        """Draw the words of each sentence with arcs from their heads."""
        return diagrams_of_heads(batch.sentences, events)

    @override
    def metric(self) -> ClassAccuracy:
        """Return the metric: accuracy over all sentences, and for each class."""
        return ClassAccuracy()

    @override
    def observed(self, sentence: Sentence) -> list[str]:
        """Return the class of the sentence, as a list."""
        return [label_of(sentence)]


def _reads_trees(config: Any) -> bool:
    return bool(config.model == "latent-tree" and config.latent.tree == "given")


def label_of(sentence: Sentence) -> str:
    """Return the class of a sentence.

    Raises:
        DataError: If it has no class, or its format has none.
    """
    labelled = require_format(sentence, classes.Sentence, "this task needs a file of sentences with classes")
    if labelled.label is None:
        raise classes.missing(labelled).error()
    return labelled.label
