"""Models that predict something for each sentence: their batches, predictions and evaluation."""

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
from strukt.tasks.common.measurement import Measurement
from strukt.tasks.common.prediction import Prediction
from strukt.tasks.common.scores import usable_scores
from strukt.viz.svg import Picture

Result = TypeVar("Result")

WINDOW = 512
"""Maximum number of sentences that prediction reads ahead, to form batches of similar length."""


class Metric(Protocol):
    """A metric: it accumulates counts, and computes scores from them."""

    def update(self, gold: Any, predicted: Any) -> None:
        """Add the counts of a sentence's gold and predicted annotation."""

    def result(self) -> dict[str, float]:
        """Compute the scores, in per cent unless the name says otherwise."""

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Compute tables of scores, such as by label or by depth: ``details[table][row][column]``."""


class Outcome(NamedTuple):
    """The evaluation of one sentence.

    Attributes:
        gold: The gold annotation that the metric compares.
        predicted: The predicted annotation.
        shares: See `Prediction`.
    """

    gold: Any
    predicted: Any
    shares: Mapping[str, tuple[float, float]]


class SentenceModel(EncodedModel):
    """A model that computes a prediction for each sentence from the vectors of its words.

    A subclass sets `task` and implements `trainable`, `labels_of`, `targets`, `loss`, `predict_batch`, `metric`,
    `observed` and `selection`. Arguments are those of `EncodedModel`.
    """

    @property
    @abstractmethod
    def selection(self) -> str:
        """The name of the score that selects the best epoch."""

    @abstractmethod
    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return the targets of the loss for a sentence, by name; batches pad them with -1.

        Args:
            sentence: An annotated sentence.

        Returns:
            Tensors of one axis, such as the index of the label of each word, ``(n,)``.

        Raises:
            DataError: If the sentence has no annotation for this task.
        """

    @abstractmethod
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> Sequence[Prediction]:
        """Return the best prediction for each sentence.

        Args:
            batch: Sentences from `collate`, on the device of the model.
            probabilities: Also compute the probability of each predicted tag, arc, span or class.
        """

    @abstractmethod
    def metric(self) -> Metric:
        """Return a new, empty metric, which is the usual one for the task."""

    @abstractmethod
    def observed(self, sentence: Sentence) -> Any:
        """Return the annotation of a sentence that the metric compares.

        Raises:
            DataError: If the sentence has no such annotation.
        """

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError if a sentence has no annotation that the metric can compare."""
        self.observed(sentence)

    @override
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the score named by `selection`."""
        return scores[self.selection]

    @override
    def collate(self, sentences: list[Sentence], with_targets: bool = True) -> Batch:
        """Make a batch, on the CPU.

        Args:
            sentences: The sentences of the batch.
            with_targets: Whether to include the targets of the loss, which require annotated sentences.

        Raises:
            DataError: If `with_targets`, and a sentence has no annotation for this task.
        """
        forms = self.encoded_forms(sentences)
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

    def encoded_forms(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        """Return the words that the encoder reads for a batch, in the order of its rows."""
        return [self.forms_of(self.config, sentence) for sentence in sentences]

    @override
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Replace the annotation of sentences by the best predictions."""
        if probabilities:
            sentences = checked(sentences, self.require_place)
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
        """Compute the metrics of the task and the additional scores of the predictions.

        Raises:
            DataError: If the annotation of a sentence breaks a rule of the task. The error names file and line.
        """
        return self.measured(self.outcomes(sentences))

    def outcomes(self, sentences: Iterable[Sentence]) -> Iterator[Outcome]:
        """Predict annotated sentences, and yield the gold and the predicted annotation of each, in their order.

        Raises:
            DataError: If the annotation of a sentence breaks a rule of the task. The error names file and line.
        """
        annotated = checked(sentences, self.require_annotated)
        for gold, prediction in self._predictions(annotated, probabilities=False):
            yield Outcome(self.observed(gold), self.compared(gold, prediction), prediction.shares)

    def measured(self, outcomes: Iterable[Outcome]) -> Measurement:
        """Compute scores from `outcomes`; an outcome may occur several times, as in a bootstrap sample."""
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
        """Raise a DataError if the format of a sentence has no place for the predictions."""

    def require_place(self, sentence: Sentence) -> None:
        """Raise a DataError if the format of a sentence has no place for probabilities of the predictions."""

    def _predictions(
        self, sentences: Iterable[Sentence], probabilities: bool
    ) -> Iterator[tuple[Sentence, Prediction]]:
        return self.computed(sentences, lambda batch: self.predict_batch(batch, probabilities))

    def computed(
        self, sentences: Iterable[Sentence], compute: Callable[[Batch], Sequence[Result]]
    ) -> Iterator[tuple[Sentence, Result]]:
        """Yield each of the sentences with the result of `compute` for it, lazily; see `batched` for `compute`."""
        for window in windows(checked(sentences, self.require_usable)):
            yield from zip(window, self.batched(window, compute), strict=True)

    def batched(
        self, sentences: Sequence[Sentence], compute: Callable[[Batch], Sequence[Result]]
    ) -> list[Result]:
        """Apply a function to sentences, in batches of similar length that fit into memory.

        Args:
            sentences: The sentences; their annotation is ignored.
            compute: A function that returns a result for each sentence of a batch; called without dropout and
                gradients, with batches on the device of the model.

        Returns:
            The results, in the order of the sentences.
        """
        results: dict[int, Result] = {}
        for indices in batches(self.sizes(sentences), self.config.trainer.tokens):
            of_batch = self._results([sentences[index] for index in indices], compute)
            results.update(zip(indices, of_batch, strict=True))
        return [results[index] for index in range(len(sentences))]

    def _results(
        self, sentences: list[Sentence], compute: Callable[[Batch], Sequence[Result]]
    ) -> list[Result]:
        """Return the result for each sentence of a batch, which is split if memory runs out."""

        def run(pieces: list[list[Sentence]]) -> list[Result]:
            collated = (self.collate(piece, with_targets=False).to(self.device) for piece in pieces)
            return [result for batch in collated for result in compute(batch)]

        with self.predicting():
            return in_fitting_pieces(run, sentences)


def checked(sentences: Iterable[Sentence], require: Callable[[Sentence], None]) -> Iterator[Sentence]:
    """Yield the sentences unchanged, after `require` has accepted each."""
    for sentence in sentences:
        require(sentence)
        yield sentence


def windows(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Group sentences in windows of 1, 2, 4, ... up to `WINDOW` sentences, so that the first results come soon."""
    stream = iter(sentences)
    size = 1
    while window := list(islice(stream, size)):
        yield window
        size = min(2 * size, WINDOW)
