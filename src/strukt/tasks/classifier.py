"""The classifier: a vector for each sentence, and a score for each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.data import conllu, conllu_classes
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import END, Vocabulary
from strukt.distributions import NonProjectiveTree
from strukt.errors import DataError, SettingError
from strukt.nn import Mixture
from strukt.tasks.batch import Batch
from strukt.tasks.class_model import ClassModel
from strukt.tasks.classify import Config
from strukt.tasks.prediction import DIGITS, diagrams_of_heads
from strukt.tasks.structured_model import StructuredModel
from strukt.tasks.tree_reader import TreeReader
from strukt.viz.diagram import Diagram
from strukt.viz.heat_map import HeatMap

DRAWN = 12
"""The most classes that are drawn."""


@dataclass(frozen=True)
class ClassPrediction:
    """The class of a sentence.

    Attributes:
        probabilities: Of each class.
        with_note: Whether the probability of the class is written behind the words.
        shares: See `Prediction`.
    """

    probabilities: Mapping[str, float]
    with_note: bool
    shares: Mapping[str, tuple[float, float]]

    @property
    def ranking(self) -> list[str]:
        """The classes, the most probable first."""
        return sorted(self.probabilities, key=self.probabilities.__getitem__, reverse=True)

    def annotate(self, sentence: Sentence) -> Sentence:
        """Puts the most probable class before the words."""
        label = max(self.probabilities, key=self.probabilities.__getitem__)
        notes = {"p": f"{self.probabilities[label]:.{DIGITS}f}"} if self.with_note else {}
        return sentence.annotated(label=label, **notes)

    def diagram(self, sentence: Sentence) -> HeatMap:  # noqa: ARG002
        """How probable each class is; of many the most probable ones."""
        names = list(self.probabilities) if len(self.probabilities) <= DRAWN else self.ranking[:DRAWN]
        row = [self.probabilities[name] for name in names]
        return HeatMap("probability of each class", ["p"], names, [row])


class Classifier(ClassModel, StructuredModel):
    """Predicts the class of each sentence, from what the encoder says of it, or from some trees of it."""

    task: ClassVar[str] = "classify"
    config: Config

    def __init__(
        self, config: Config, vocabularies: dict[str, Vocabulary], assets: Path | None = None
    ) -> None:
        super().__init__(config, vocabularies, assets)
        self.dropout = nn.Dropout(config.encoder.dropout)
        by_tree = config.model == "latent-tree"
        self.tree_reader = TreeReader(self.encoder.size, config.latent) if by_tree else None
        size = self.encoder.sentence_size if self.tree_reader is None else self.tree_reader.size
        self.score = nn.Linear(size, len(vocabularies["labels"]))

    @classmethod
    @override
    def forms_of(cls, config: Config, sentence: Sentence) -> list[str]:
        """The words, and one at the end that stands for all of them where neither root nor trees do."""
        is_whole = config.encoder.has_root or config.model == "latent-tree"
        return sentence.forms if is_whole else [*sentence.forms, END]

    @override
    def loss(self, batch: Batch) -> Tensor:
        """The mean negative log-likelihood of a sentence's class; a bound of it, if trees are sampled."""
        mixture = self._read(batch)
        return functional.nll_loss(self._log_probs(mixture), batch.targets["label"].squeeze(1))

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[ClassPrediction]:
        mixture = self._read(batch)
        rows = self._log_probs(mixture).exp().tolist()
        symbols = self.vocabularies["labels"].symbols
        counts = mixture.counts.tolist() if self.is_latent else []
        shares = [{"trees": (float(count), 1.0)} for count in counts] or [{}] * len(rows)
        return [
            ClassPrediction(dict(zip(symbols, row, strict=True)), probabilities, share)
            for row, share in zip(rows, shares, strict=True)
        ]

    @property
    def is_latent(self) -> bool:
        """Whether it classifies by latent trees."""
        return self.tree_reader is not None and self.config.latent.tree == "latent"

    @property
    @override
    def is_sparse(self) -> bool:
        return self.is_latent and self.config.latent.estimator in ("sparsemap", "sparse-marginals")

    @override
    def distribution_of(self, batch: Batch) -> NonProjectiveTree:
        """That over the latent trees.

        Raises:
            SettingError: There are none.
        """
        if self.tree_reader is None or not self.is_latent:
            raise SettingError("the model has no latent trees; train with --model latent-tree")
        vectors = self.encoder(batch.inputs, batch.lengths)
        found: NonProjectiveTree = self.tree_reader.trees(vectors, batch.lengths)
        return found

    @override
    def drawn(self, batch: Batch, events: Tensor) -> list[Diagram]:
        """Words with arcs."""
        return diagrams_of_heads(batch.sentences, events)

    def _read(self, batch: Batch) -> Mixture:
        """Vectors of the sentences: one for each, or for each tree that is read."""
        if self.tree_reader is None:
            return Mixture.of_one(self.encoder.of_sentences(batch.inputs, batch.lengths))
        heads = None
        if self.config.latent.tree == "given":
            rows = [_heads(sentence) for sentence in batch.sentences]
            heads = pad_sequence(rows, True, -1).to(batch.lengths.device)
        found: Mixture = self.tree_reader(self.encoder(batch.inputs, batch.lengths), batch.lengths, heads)
        return found

    def _log_probs(self, mixture: Mixture) -> Tensor:
        """`(batch, classes)`."""
        scores: Tensor = self.score(self.dropout(mixture.outputs)).float()
        return mixture.log_likelihood(scores.log_softmax(-1))


def _heads(sentence: Sentence) -> Tensor:
    if not isinstance(sentence, conllu_classes.Sentence):
        raise DataError(
            "latent.tree given needs CoNLL-U with the comment # label = CLASS", sentence.path, sentence.line
        )
    return torch.tensor(conllu.require_tree(sentence.plain).heads)
