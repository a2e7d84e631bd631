"""The classifier: a vector for each sentence, and a score for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import CLS, END, Vocabulary
from strukt.nn import Mixture
from strukt.nn.inputs import precise
from strukt.tasks.classify.config import Config
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.classes.model import GIVEN, ClassModel, given_heads
from strukt.tasks.common.classes.prediction import ClassPrediction
from strukt.tasks.common.classes.tree_reader import TreeReader
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.structured_model import counts_of


class Classifier(ClassModel):
    """Predicts the class of each sentence, from what the encoder says of it, or from some trees of it.

    Attributes:
        prediction: What it says of a sentence.
    """

    task: ClassVar[str] = "classify"
    networks: tuple[str, ...] = ("sentences", "class_scores")
    config: Config
    prediction: ClassVar[type[ClassPrediction]] = ClassPrediction

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        self.dropout = nn.Dropout(config.encoder.outer_dropout)
        by_tree = config.model == "latent-tree"
        self.tree_reader = TreeReader(self.encoder.size, config.latent) if by_tree else None
        size = self.encoder.sentence_size if self.tree_reader is None else self.tree_reader.size
        self.score = nn.Linear(size, len(vocabularies["labels"]))
        if config.encoder.is_published:
            nn.init.xavier_uniform_(self.score.weight)

    @classmethod
    @override
    def trainable(cls, config: Any, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """All sentences; checks that they have trees, if those are to be read."""
        if config.model == "latent-tree" and config.latent.tree == "given":
            for sentence in sentences:
                given_heads(sentence, GIVEN)
        return super().trainable(config, sentences)

    @classmethod
    @override
    def forms_of(cls, config: Config, sentence: Sentence) -> list[str]:
        """The words, and one in front or at the end that stands for them where neither root nor trees do."""
        if config.encoder.has_root or config.model == "latent-tree":
            return sentence.forms
        return [CLS, *sentence.forms] if config.token == "cls" else [*sentence.forms, END]

    @override
    def loss(self, batch: Batch) -> Tensor:
        """The mean negative log-likelihood of a sentence's class; a bound of it, if trees are sampled."""
        mixture = self._read(batch)
        return functional.nll_loss(self._log_probs(mixture), batch.targets["label"].squeeze(1))

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[ClassPrediction]:
        mixture = self._read(batch)
        rows = self.named(self._log_probs(mixture))
        shares = self.shares_of(mixture, len(rows))
        return [self.prediction(row, probabilities, share) for row, share in zip(rows, shares, strict=True)]

    def shares_of(self, mixture: Mixture, count: int) -> list[dict[str, tuple[float, float]]]:
        """Return the number of trees that are read of each sentence, where they are few."""
        counts = [] if self.tree_reader is None else counts_of(mixture, self.tree_reader.estimator)
        return [{"trees": (float(found), 1.0)} for found in counts] or [{}] * count

    @override
    def require_usable(self, sentence: Sentence) -> None:
        """Where given trees are read, there must be one."""
        if self._reads_given_trees:
            given_heads(sentence, GIVEN)

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """There must be a class, and a tree where given ones are read."""
        super().require_annotated(sentence)
        self.require_usable(sentence)

    @property
    def _reads_given_trees(self) -> bool:
        return self.tree_reader is not None and self.config.latent.tree == "given"

    def sentences(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Vectors of sentences `(batch, size)`, if no trees are read."""
        if self.config.token == "cls":
            return self.encoder(inputs, lengths)[:, 0]  # type: ignore[no-any-return]
        return self.encoder.of_sentences(inputs, lengths)

    def class_scores(self, vectors: Tensor) -> Tensor:
        """`(batch, classes)`, from what is read of sentences."""
        return precise(self.score(self.dropout(vectors)))

    def _read(self, batch: Batch) -> Mixture:
        """Vectors of the sentences: one for each, or for each tree that is read."""
        if self.tree_reader is None:
            return Mixture.of_one(self.sentences(batch.inputs, batch.lengths))
        heads = None
        if self._reads_given_trees:
            rows = [torch.tensor(given_heads(sentence, GIVEN)) for sentence in batch.sentences]
            heads = pad_sequence(rows, True, -1).to(batch.lengths.device)
        found: Mixture = self.tree_reader(self.encoder(batch.inputs, batch.lengths), batch.lengths, heads)
        return found

    def _log_probs(self, mixture: Mixture) -> Tensor:
        """`(batch, classes)`."""
        return mixture.log_likelihood(self.class_scores(mixture.outputs).log_softmax(-1))
