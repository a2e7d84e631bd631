"""Models that predict something of each sentence: batches, prediction, evaluation."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.data.batching import batches
from strukt.data.sentence import Sentence
from strukt.tasks.common.batch import Batch, in_fitting_pieces
from strukt.tasks.common.encoded_model import EncodedModel
from strukt.tasks.common.model import Measurement
from strukt.tasks.common.prediction import Prediction
from strukt.tasks.common.scores import usable_scores
from strukt.viz.svg import Picture

Answer = TypeVar("Answer")

WINDOW = 512
"""The most sentences that prediction reads ahead, to batch those of similar length."""


class Metric(Protocol):
    """A counter from which scores are computed."""

    def update(self, gold: Any, predicted: Any) -> None:
        """Count the gold and the predicted annotation of a sentence."""

    def result(self) -> dict[str, float]:
        """Compute the scores, in percent."""

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Compute tables of scores by label, by depth ...: name of the table, row, column."""


class Outcome(NamedTuple):
    """The evaluation of one sentence.

    Attributes:
        gold: What the metric observes in it.
        predicted: What it compares with that.
        shares: See `Prediction`.
    """

    gold: Any
    predicted: Any
    shares: Mapping[str, tuple[float, float]]


class SentenceModel(EncodedModel):
    """A model that predicts something of each sentence from vectors of its words."""

    @property
    @abstractmethod
    def selection(self) -> str:
        """The metric that chooses the best epoch."""

    @abstractmethod
    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return the vectors that the loss compares with; batches pad them with -1."""

    @abstractmethod
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> Sequence[Prediction]:
        """Predict what is best, and with `probabilities` the probability of each of its parts."""

    @abstractmethod
    def metric(self) -> Metric:
        """Make a new counter of the field's metric."""

    @abstractmethod
    def observed(self, sentence: Sentence) -> Any:
        """Return the annotation that the metric compares.

        Raises:
            DataError: The sentence lacks it.
        """

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise DataError if a sentence lacks what the metric compares."""
        self.observed(sentence)

    @override
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the metric named by `selection`."""
        return scores[self.selection]

    @override
    def collate(self, sentences: list[Sentence], with_targets: bool = True) -> Batch:
        """Make a batch, on the CPU.

        Args:
            sentences: The sentences.
            with_targets: Whether they carry the annotation that the loss needs.
        """
        forms = [self.forms_of(self.config, sentence) for sentence in sentences]
        lengths = torch.tensor([len(words) for words in forms], dtype=torch.long)
        inputs = self.encoder.inputs(forms)
        targets: dict[str, Tensor] = {}
        if with_targets and sentences:
            rows = [self.targets(sentence) for sentence in sentences]
            targets = {
                name: pad_sequence([row[name] for row in rows], batch_first=True, padding_value=-1)
                for name in rows[0]
            }
        return Batch(sentences, lengths, inputs, targets)

    @override
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Put the best predictions in the place of the annotation."""
        if probabilities:
            sentences = self._with_place(sentences)
        for sentence, prediction in self._predictions(sentences, probabilities):
            yield prediction.annotate(sentence)

    @override
    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Picture]:
        """Draw the best predictions."""
        for sentence, prediction in self._predictions(sentences, probabilities):
            with usable_scores():
                picture = prediction.diagram(sentence)
            yield picture

    @override
    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """Compute the field's metrics, in percent, and the further scores of the predictions.

        Raises:
            DataError: The annotation of a sentence breaks a rule of the task; the message names file and line.
        """
        return self.measured(self.outcomes(sentences))

    def outcomes(self, sentences: Iterable[Sentence]) -> Iterator[Outcome]:
        """Evaluate annotated sentences one by one, in their order.

        Raises:
            DataError: The annotation of a sentence breaks a rule of the task; the message names file and line.
        """
        for gold, prediction in self._predictions(self._gold(sentences), probabilities=False):
            yield Outcome(self.observed(gold), self.compared(gold, prediction), prediction.shares)

    def measured(self, outcomes: Iterable[Outcome]) -> Measurement:
        """Add up the evaluations of sentences, each as often as it occurs."""
        metric, sums, counts = self.metric(), defaultdict[str, float](float), defaultdict[str, float](float)
        for outcome in outcomes:
            metric.update(outcome.gold, outcome.predicted)
            for name, (part, count) in outcome.shares.items():
                sums[name] += part
                counts[name] += count
        shares = {name: sums[name] / count if count else 0.0 for name, count in counts.items()}
        return Measurement(metric.result() | shares, metric.details())

    def compared(self, gold: Sentence, prediction: Prediction) -> Any:
        """Return the part of a prediction that the metric compares with the gold sentence."""
        return self.observed(prediction.annotate(gold))

    def require_usable(self, sentence: Sentence) -> None:
        """Raise DataError if a sentence of this format has no place for the predictions."""

    def require_place(self, sentence: Sentence) -> None:
        """Raise DataError if a sentence of this format has no place for probabilities beside the predictions."""

    def _gold(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            self.require_annotated(sentence)
            yield sentence

    def _with_place(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            self.require_place(sentence)
            yield sentence

    def _predictions(
        self, sentences: Iterable[Sentence], probabilities: bool
    ) -> Iterator[tuple[Sentence, Prediction]]:
        for window in windows(sentences):
            for sentence in window:
                self.require_usable(sentence)
            predictions = self.batched(window, lambda batch: self.predict_batch(batch, probabilities))
            yield from zip(window, predictions, strict=True)

    def batched(
        self, sentences: Sequence[Sentence], answers_of: Callable[[Batch], Sequence[Answer]]
    ) -> list[Answer]:
        """Answer a question about each of some sentences, in batches of similar length that fit into memory.

        Args:
            sentences: What they are annotated with is not read.
            answers_of: From a batch, on the device of the model, to an answer for each of its sentences; it runs
                without dropout and gradients.

        Returns:
            The answers in the order of the sentences.
        """
        answers: dict[int, Answer] = {}
        for indices in batches(self.sizes(sentences), self.config.trainer.tokens):
            of_batch = self._answers([sentences[index] for index in indices], answers_of)
            answers.update(zip(indices, of_batch, strict=True))
        return [answers[index] for index in range(len(sentences))]

    def _answers(
        self, sentences: list[Sentence], answers_of: Callable[[Batch], Sequence[Answer]]
    ) -> list[Answer]:
        def run(pieces: list[list[Sentence]]) -> list[Answer]:
            collated = (self.collate(piece, with_targets=False).to(self.device) for piece in pieces)
            return [answer for batch in collated for answer in answers_of(batch)]

        with self.predicting():
            return in_fitting_pieces(run, sentences)


def windows(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Group sentences in runs of 1, 2, 4 and at last `WINDOW`, so that the first answers come at once."""
    stream = iter(sentences)
    size = 1
    while window := list(islice(stream, size)):
        yield window
        size = min(2 * size, WINDOW)
