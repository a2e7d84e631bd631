"""The classifier: computes a vector for each sentence, and from it a score for each class."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import CLS, END, Vocabulary
from strukt.nn import Mixture
from strukt.nn.inputs import precise
from strukt.tasks.classify.config import Config
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.classes.model import ClassModel
from strukt.tasks.common.classes.prediction import ClassPrediction
from strukt.tasks.common.classes.tree_reader import TreeReader
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.structured_model import counts_of


class Classifier(ClassModel):
    r"""A classifier: predicts the class of each sentence, from the encoder alone or from dependency trees.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and the classes as `labels`.
        encoder: The encoder of the words.

    Attributes:
        prediction: The Python class of its predictions.

    Examples:
        >>> from strukt.tasks.classify import Config
        >>> import io
        >>> from strukt.data.classes import labelled
        >>> sentences = [*labelled.read(io.BytesIO(b"positive\ta joy\nnegative\ttoo tepid\n"))]
        >>> classifier = Classifier.from_corpus(Config(), sentences)
        >>> [classified] = classifier.predict("a joy", probabilities=True)
        >>> classified.label in classifier.vocabularies["labels"].symbols
        True
        >>> [drawn] = classifier.diagrams(sentences[:1])
        >>> drawn.columns, round(sum(drawn.values[0]), 3)
        (['negative', 'positive'], 1.0)
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
    def forms_of(cls, config: Config, sentence: Sentence) -> list[str]:
        """Return the words, with an added word that represents the sentence unless a root or trees do so."""
        if config.encoder.has_root or config.model == "latent-tree":
            return sentence.forms
        return [CLS, *sentence.forms] if config.token == "cls" else [*sentence.forms, END]

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-likelihood of the class, or an upper bound if trees are sampled."""
        mixture = self._read(batch)
        return functional.nll_loss(self._log_probs(mixture), batch.targets["label"].squeeze(1))

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[ClassPrediction]:
        mixture = self._read(batch)
        rows = self.named(self._log_probs(mixture))
        shares = self.shares_of(mixture, len(rows))
        return [self.prediction(row, probabilities, share) for row, share in zip(rows, shares, strict=True)]

    def shares_of(self, mixture: Mixture, count: int) -> list[dict[str, tuple[float, float]]]:
        """Return each sentence's share of the additional score `trees`, the mean number of trees that are read.

        The dictionaries are empty if the model reads no trees, or does not sum over a few of them.

        Args:
            mixture: The outputs for the trees of all sentences.
            count: Number of sentences.
        """
        counts = [] if self.tree_reader is None else counts_of(mixture, self.tree_reader.estimator)
        return [{"trees": (float(trees), 1.0)} for trees in counts] or [{}] * count

    def sentences(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return vectors of sentences, ``(batch, encoder.sentence_size)``, for models that read no trees.

        Args:
            inputs: The inputs of the encoder, as in `Batch.inputs`.
            lengths: ``(batch,)``, the numbers of words.
        """
        if self.config.token == "cls":
            return self.encoder(inputs, lengths)[:, 0]  # type: ignore[no-any-return]
        return self.encoder.of_sentences(inputs, lengths)

    def class_scores(self, vectors: Tensor) -> Tensor:
        """Return scores of classes ``(rows, classes)`` from vectors of sentences or trees, ``(rows, size)``."""
        return precise(self.score(self.dropout(vectors)))

    def _read(self, batch: Batch) -> Mixture:
        """Return the vectors of sentences: one per sentence, or one per tree that the model reads."""
        if self.tree_reader is None:
            return Mixture.of_one(self.sentences(batch.inputs, batch.lengths))
        return self._of_trees(self.tree_reader, batch)

    def _log_probs(self, mixture: Mixture) -> Tensor:
        """Return log-probabilities of classes, ``(batch, classes)``."""
        return mixture.log_likelihood(self.class_scores(mixture.outputs).log_softmax(-1))
