"""What every model of a task is: it reads sentences, has a loss, and annotates sentences."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from strukt.data.batching import batches
from strukt.data.corpus import Readers
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.distributions.distribution import StructuredDistribution
from strukt.tasks import TASKS
from strukt.tasks.batch import Batch, in_fitting_pieces
from strukt.tasks.encoding import build_encoder, count_vocabularies
from strukt.tasks.prediction import Prediction
from strukt.viz.heat_map import HeatMap
from strukt.viz.terminal import AnyDiagram

if TYPE_CHECKING:
    from typing_extensions import Self

WINDOW = 512
"""The most sentences that prediction reads ahead, to batch those of similar length."""


class Metric(Protocol):
    """Counts from which scores are computed."""

    def update(self, gold: Any, predicted: Any) -> None:
        """Counts what was observed in a sentence."""

    def result(self) -> dict[str, float]:
        """The scores in percent."""

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Tables of the same by label, by depth ...: name of the table, row, column."""


@dataclass(frozen=True)
class Measurement:
    """How good predictions are, in percent.

    Attributes:
        scores: By name.
        details: Tables of scores by label, by depth ...: name of the table, row, column.
    """

    scores: dict[str, float]
    details: dict[str, dict[str, dict[str, float]]]


class StructuredModel(nn.Module, ABC):
    """A trained or trainable model of a task.

    Args:
        config: The configuration of the task.
        vocabularies: Those of the encoder and of the labels, as `from_corpus` counted them.
        assets: The folder with the files of a saved pretrained encoder; None for a new model.

    Attributes:
        task: Name of the task.
        config: The configuration.
        vocabularies: The vocabularies.
        encoder: From forms to vectors.
    """

    task: ClassVar[str]

    def __init__(self, config: Any, vocabularies: dict[str, Vocabulary], assets: Path | None = None) -> None:
        super().__init__()
        self.config = config
        self.vocabularies = vocabularies
        self.encoder = build_encoder(config.encoder, vocabularies, assets)

    @classmethod
    def from_corpus(cls, config: Any, sentences: Sequence[Sentence]) -> Self:
        """A new model with the vocabularies of a training corpus.

        Args:
            config: The configuration of the task.
            sentences: What `trainable` gave.

        Raises:
            DataError: The corpus cannot train this model.
        """
        vocabularies = count_vocabularies(config.encoder, sentences) | cls.labels_of(config, sentences)
        return cls(config, vocabularies)

    @classmethod
    @abstractmethod
    def trainable(cls, config: Any, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """The sentences that the criterion can learn from; a warning tells of the others.

        Raises:
            DataError: A sentence lacks what the task predicts, or it is malformed.
        """

    @classmethod
    @abstractmethod
    def labels_of(cls, config: Any, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """The vocabularies of what is predicted."""

    @property
    @abstractmethod
    def selection(self) -> str:
        """The metric that chooses the best epoch."""

    @abstractmethod
    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """What the loss compares with: vectors, which are padded with -1."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The mean loss, a scalar."""

    @abstractmethod
    def distribution_of(self, batch: Batch) -> StructuredDistribution:
        """The distribution over the structures of each sentence."""

    @abstractmethod
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> Sequence[Prediction]:
        """The best structures, and with `probabilities` how probable each of their parts is."""

    @abstractmethod
    def metric(self) -> Metric:
        """A new counter of the field's metric."""

    @abstractmethod
    def observed(self, sentence: Sentence) -> Any:
        """What the metric compares.

        Raises:
            DataError: The sentence lacks it.
        """

    @classmethod
    def readers(cls) -> Readers:
        """The readers of what this model annotates."""
        found: Readers = import_module(TASKS[cls.task]).READERS
        return found

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def collate(self, sentences: list[Sentence], with_targets: bool = True) -> Batch:
        """Makes a batch, on the CPU.

        Args:
            sentences: The sentences.
            with_targets: Whether they carry the annotation that the loss needs.
        """
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long)
        inputs = self.encoder.inputs([sentence.forms for sentence in sentences])
        targets: dict[str, Tensor] = {}
        if with_targets and sentences:
            rows = [self.targets(sentence) for sentence in sentences]
            targets = {
                name: pad_sequence([row[name] for row in rows], batch_first=True, padding_value=-1)
                for name in rows[0]
            }
        return Batch(sentences, lengths, inputs, targets)

    def distribution(self, sentences: Sequence[Sentence]) -> StructuredDistribution:
        """The distribution over the structures of each sentence, for probabilities and pictures.

        Args:
            sentences: A batch; what they are annotated with is not read.
        """
        with self._predicting():
            return self.distribution_of(self.collate(list(sentences), with_targets=False).to(self.device))

    def predict(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Annotates sentences in their order, as they come, in constant memory.

        Args:
            sentences: Any number of sentences; what they are annotated with is not read.
            probabilities: Also note the probability of each predicted part.

        Yields:
            The sentences with the predictions in the place of what they were annotated with.

        Raises:
            DataError: The format of a sentence has no place for the predictions.
        """
        if probabilities:
            sentences = self._with_place(sentences)
        for sentence, prediction in self._predictions(sentences, probabilities):
            yield prediction.annotate(sentence)

    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[AnyDiagram]:
        """What pictures of the predictions show, in the order of the sentences.

        Args:
            sentences: Any number of sentences; what they are annotated with is not read.
            probabilities: Also how probable each predicted part is.
        """
        for sentence, prediction in self._predictions(sentences, probabilities):
            yield prediction.diagram(sentence)

    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """The field's metrics on annotated sentences.

        Args:
            sentences: A corpus with gold annotation.
        """
        metric, parts, wholes = self.metric(), Counter[str](), Counter[str]()
        for gold, prediction in self._predictions(sentences, probabilities=False):
            metric.update(self.observed(gold), self.observed(prediction.annotate(gold)))
            for name, (part, whole) in prediction.shares.items():
                parts[name] += part
                wholes[name] += whole
        shares = {name: 100 * parts[name] / whole if whole else 0.0 for name, whole in wholes.items()}
        return Measurement(metric.result() | shares, metric.details())

    def evaluate(self, sentences: Iterable[Sentence]) -> dict[str, float]:
        """The scores of `measure`, in percent.

        Args:
            sentences: A corpus with gold annotation.
        """
        return self.measure(sentences).scores

    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Counts on the training corpus what is not learned by gradients; before each evaluation in training."""

    def code_distances(self) -> HeatMap | None:
        """How far the codes of labels are apart, if the model predicts codes."""
        return None

    def require_usable(self, sentence: Sentence) -> None:
        """Raises DataError if a sentence of this format has no place for the predictions."""

    def require_place(self, sentence: Sentence) -> None:
        """Raises DataError if a sentence of this format has no place for probabilities beside the predictions."""

    def _with_place(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            self.require_place(sentence)
            yield sentence

    def _predictions(
        self, sentences: Iterable[Sentence], probabilities: bool
    ) -> Iterator[tuple[Sentence, Prediction]]:
        for window in _windows(sentences):
            for sentence in window:
                self.require_usable(sentence)
            yield from zip(window, self._predict_window(window, probabilities), strict=True)

    def _predict_window(self, window: list[Sentence], probabilities: bool) -> list[Prediction]:
        predictions: dict[int, Prediction] = {}
        for indices in batches([len(sentence) for sentence in window], self.config.trainer.tokens):
            found = self._predict_batch([window[index] for index in indices], probabilities)
            predictions.update(zip(indices, found, strict=True))
        return [predictions[index] for index in range(len(window))]

    def _predict_batch(self, sentences: list[Sentence], probabilities: bool) -> list[Prediction]:
        def run(pieces: list[list[Sentence]]) -> list[Prediction]:
            collated = (self.collate(piece, with_targets=False).to(self.device) for piece in pieces)
            return [
                prediction for batch in collated for prediction in self.predict_batch(batch, probabilities)
            ]

        with self._predicting():
            return in_fitting_pieces(run, sentences)

    @contextlib.contextmanager
    def _predicting(self) -> Iterator[None]:
        was_training = self.training
        self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.train(was_training)


def _windows(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Sentences in runs of 1, 2, 4 and at last `WINDOW`, so that the first answers come at once."""
    stream = iter(sentences)
    size = 1
    while window := list(islice(stream, size)):
        yield window
        size = min(2 * size, WINDOW)
