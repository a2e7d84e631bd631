"""Models that predict labelled spans: an encoder, and a layer that predicts spans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.nn import SharedDropout
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.partial_annotation import forbidden_targets
from strukt.tasks.common.prediction import Prediction
from strukt.tasks.common.spans.config import SpanTaskConfig
from strukt.tasks.common.spans.label_spans import LabelSpans
from strukt.tasks.common.spans.layer import GoldSpans, SpanLayer
from strukt.tasks.common.spans.likelihood_codes import LikelihoodCodes
from strukt.tasks.common.spans.prediction import PredictedSpan
from strukt.tasks.common.spans.published_codes import PublishedCodes
from strukt.tasks.common.structure_predictor import StructurePredictor
from strukt.viz import HeatMap

FIRST_SENTENCES = 32
"""Number of sentences whose word vectors may set the initial weights of a layer."""

FIRST_WORDS = 256
"""Maximum number of word vectors that may set the initial weights of a layer."""


class SpanModel(StructurePredictor):
    """A model that predicts nested labelled spans.

    A subclass sets `task` and implements `trainable`, `has_annotation`, `labels_of`, `known_spans`, `is_partial`,
    `predict_batch`, `predictions_of`, `partly_annotated`, `metric` and `observed`.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and the `labels` of spans.
        encoder: The encoder of the words.

    Attributes:
        layer: The layer that predicts spans from vectors of words.
        separator: The separator in the joint label of spans over the same words.
    """

    networks: tuple[str, ...] = ("words", "layer.scores")
    separator: ClassVar[str] = " "
    config: SpanTaskConfig

    def __init__(self, config: SpanTaskConfig, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        self.dropout = SharedDropout(config.encoder.outer_dropout)
        self.layer = self.build_layer()

    @override
    def start_from(self, sentences: Sequence[Sentence]) -> None:
        """Let the layer set its initial weights from the vectors of the first words of the corpus."""
        self.layer.start_from(lambda: self.first_vectors(sentences))

    def first_vectors(self, sentences: Sequence[Sentence]) -> Tensor:
        """Return the vectors of the first words of a corpus, without dropout: ``(words, size)``.

        They are those of at most 256 words in the first 32 sentences.
        """
        with self.predicting():
            batch = self.collate(list(sentences[:FIRST_SENTENCES]))
            words = self.words(batch.inputs, batch.lengths)
        return words[torch.arange(words.shape[1]) < batch.lengths[:, None]][:FIRST_WORDS]

    def build_layer(self) -> SpanLayer:
        """Build the layer that the criterion needs."""
        kind = {"bits": LikelihoodCodes, "bits-published": PublishedCodes}.get(
            self.config.criterion, LabelSpans
        )
        return kind(self.config, self.encoder.size, self.vocabularies["labels"])

    @abstractmethod
    def known_spans(self, sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        """Return start, end and label of the annotated spans of a sentence, without duplicates."""

    @staticmethod
    @abstractmethod
    def is_partial(sentence: Sentence) -> bool:
        """Return whether a sentence may have labelled spans in addition to the annotated ones."""

    @abstractmethod
    def predictions_of(
        self, batch: Batch, spans: Iterable[Sequence[PredictedSpan]]
    ) -> Sequence[Prediction]:
        """Return predictions with given spans.

        Args:
            batch: The sentences.
            spans: The spans of each sentence, outer before inner, left before right.
        """

    def savable(self, sentence: Sentence) -> Sentence:
        """Return a sentence in a format that can record forbidden spans; by default, unchanged."""
        return sentence

    @abstractmethod
    def partly_annotated(self, sentence: Sentence, spans: Sequence[tuple[int, int, str]]) -> Sentence:
        """Return a sentence with these spans, marked as partially annotated.

        Args:
            sentence: A sentence without spans, from `savable`.
            spans: Start, end and joint label of each span.
        """

    @property
    def selection(self) -> str:
        """The score that selects the best epoch: F1 of labelled spans."""
        return "f1"

    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return `starts`, `ends` and `labels` of the known spans, ``(spans,)`` each.

        With `partial`, also return whether the sentence may have other spans, `partial` ``(1,)``, and the
        forbidden spans.
        """
        labels = self.vocabularies["labels"]
        rows = [(start, end, labels.index(label)) for start, end, label in self.known_spans(sentence)]
        columns = torch.tensor(rows, dtype=torch.long).reshape(-1, 3).unbind(-1)
        targets = dict(zip(("starts", "ends", "labels"), columns, strict=True))
        if not self.config.partial:
            return targets
        indices = [
            (*part.place, labels.index(part.label))
            for part in sentence.forbidden
            if part.kind == "span" and part.label in labels
        ]
        partial = torch.tensor([int(self.is_partial(sentence))])
        return targets | {"partial": partial} | forbidden_targets(indices, 3)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of the layer, a scalar."""
        return self.layer.loss(self.views(batch), GoldSpans.of(batch.targets), batch.lengths)

    def views(self, batch: Batch) -> list[Tensor]:
        """Encode the words once for each of the `layer.views` views, each with different dropout.

        Args:
            batch: Sentences from `collate`, on the device of the model.

        Returns:
            The vectors of words for each view, ``(batch, n, size)``.
        """
        return [self.words(batch.inputs, batch.lengths) for _ in range(self.layer.views)]

    def words(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return the vectors of words in context, ``(batch, n, size)``, with dropout in training.

        Args:
            inputs: The inputs of the encoder, as in `Batch.inputs`.
            lengths: ``(batch,)``, the numbers of words.
        """
        vectors: Tensor = self.dropout(self.encoder(inputs, lengths))
        return vectors

    def distribution_of(self, batch: Batch) -> StructuredDistribution:
        """Return the distribution over structures of spans."""
        return self.layer.distribution(self.words(batch.inputs, batch.lengths), batch.lengths)

    @override
    def entropies(self, batch: Batch) -> Tensor:
        return self.layer.entropies(self.words(batch.inputs, batch.lengths), batch.lengths)

    def code_distances(self) -> HeatMap | None:
        return self.layer.distances()

    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Let a layer with codes count the labels of each code in the training corpus."""
        with self.predicting():
            self.layer.calibrate(
                (self.words(batch.inputs, batch.lengths), GoldSpans.of(batch.targets), batch.lengths)
                for batch in self.collated(sentences)
            )
