"""Models that encode lines of numbers and decode a result, with or without attention."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.data.batching import consecutive_batches
from strukt.data.corpora.synthetic import numbers
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError, SettingError
from strukt.nn import MeanFieldAttention
from strukt.nn.encoder_decoder import Decoded, Memory
from strukt.nn.transduction import SymbolReader
from strukt.tasks.common import attention_pictures
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.measurement import Measurement
from strukt.tasks.common.model import Model
from strukt.tasks.common.numbers.config import NumberConfig
from strukt.tasks.common.sentences import require_sentences
from strukt.tasks.common.symbols import NUMBER, Forms
from strukt.viz import HeatMap
from strukt.viz.pictures.interactions import Spanning
from strukt.viz.svg import Picture

if TYPE_CHECKING:
    from typing_extensions import Self

BUCKET = 5
"""Number of sentence lengths that share a row in the table of scores by length."""

Shares = Mapping[str, tuple[float, float]]
"""A sentence's share of the numerator and denominator of each score, by the name of the score."""


class NumberPrediction(NamedTuple):
    """The prediction of a model for one sentence.

    Attributes:
        outputs: The output of each step, a number as text.
        probabilities: The probability of each output, `(steps,)`; None if unknown.
    """

    outputs: list[str]
    probabilities: Tensor | None = None


class NumberModel(Model):
    """A model that encodes numbers and decodes a result, with or without attention.

    A subclass sets `task` and `network`, and implements `target`, `loss`, `score_shares`, `quality`,
    `predictions`, `decoded` and `annotate`.

    Args:
        config: The configuration of the task.
        vocabularies: The numbers, as `symbols`.

    Attributes:
        network: Embeddings of numbers, encoder and decoder.
    """

    largest: ClassVar[int | None] = None
    """The largest allowed number; None for any number."""

    outputs: ClassVar[Forms] = {"symbols": NUMBER}
    config: NumberConfig
    network: SymbolReader

    def __init__(self, config: NumberConfig, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__(config, vocabularies)
        self.symbols = vocabularies["symbols"]

    @classmethod
    @override
    def from_corpus(cls, config: NumberConfig, sentences: Sequence[Sentence]) -> Self:
        """Build a model with the numbers of a corpus, in ascending order.

        Raises:
            DataError: If the corpus is empty, or a word is not a number.
        """
        require_sentences(config, sentences)
        known = {number for sentence in sentences for number in numbers(sentence, cls.largest)}
        return cls(config, {"symbols": Vocabulary(map(str, sorted(known)))})

    @classmethod
    @override
    def trainable(cls, config: NumberConfig, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return all sentences.

        Raises:
            DataError: If a word is not a number.
        """
        for sentence in sentences:
            numbers(sentence, cls.largest)
        return sentences

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError if the model does not know a word; the answer is computed from the words."""
        self._indices(sentence)

    @abstractmethod
    def target(self, row: Tensor) -> Tensor:
        """Return the right answer for a sentence, ``(steps,)``, as `loss` reads it from the batch.

        It holds symbol indices if the model decodes symbols, else whole numbers. Batches pad it with -1.

        Args:
            row: ``(n,)``, the symbol indices of the n numbers.
        """

    @abstractmethod
    def predictions(self, memory: Memory) -> list[NumberPrediction]:
        """Return the predictions of the model for encoded sentences.

        Args:
            memory: The result of `read`.
        """

    @abstractmethod
    def decoded(self, memory: Memory, prediction: NumberPrediction) -> Decoded:
        """Return the decoder's steps that lead to the prediction for one sentence.

        Args:
            memory: The result of `read` for the sentence alone.
            prediction: Its prediction, from `predictions`.
        """

    @abstractmethod
    def score_shares(self, batch: Batch) -> Iterator[Shares]:
        """Predict a batch; yield each sentence's shares of the scores, in the order of the batch."""

    @abstractmethod
    def annotate(self, sentence: Sentence, prediction: NumberPrediction, probabilities: bool) -> Sentence:
        """Return the sentence with its prediction as notes.

        Args:
            sentence: The sentence.
            prediction: Its prediction, from `predictions`.
            probabilities: Whether to note probabilities, too.

        Raises:
            ValueError: If the format has no place for notes.
        """

    @override
    def collate(self, sentences: list[Sentence]) -> Batch:
        """Make a batch of sentences: the symbol indices, `words` ``(batch, n)``, and the right answers, `answer`.

        Raises:
            DataError: If a word is not a number that the model knows.
        """
        rows = [torch.tensor(self._indices(sentence)) for sentence in sentences]
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        answers = [self.target(row) for row in rows]
        return Batch(
            sentences,
            lengths,
            {"words": pad_sequence(rows, batch_first=True)},
            {"answer": pad_sequence(answers, batch_first=True, padding_value=-1)},
        )

    def read(self, batch: Batch) -> Memory:
        """Encode a batch for the decoder."""
        return self.network.read(batch.inputs["words"], batch.lengths)

    def divergence(self, decoded: Decoded, inside: Tensor) -> Tensor | float:
        """Return the loss of random contexts: the weighted KL divergence, summed over steps; 0 for other contexts.

        Args:
            decoded: The decoder's steps.
            inside: ``(batch, steps)``, a mask of the steps that are not padding.
        """
        if decoded.divergence is None:
            return 0.0
        return self.config.kl_weight * decoded.divergence.masked_fill(~inside, 0).sum()

    @override
    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """Return the scores, and a table of the scores by the length of sentences.

        Raises:
            DataError: If a word is not a number that the model knows.
        """
        total, rows = _Means(), defaultdict[int, _Means](_Means)
        with self.predicting():
            for batch in self.collated(list(sentences)):
                for sentence, shares in zip(batch.sentences, self.score_shares(batch), strict=True):
                    total.add(shares)
                    rows[(len(sentence) - 1) // BUCKET].add(shares)
        table = {
            f"{BUCKET * row + 1}-{BUCKET * (row + 1)}": rows[row].result() | {"gold": rows[row].count}
            for row in sorted(rows)
        }
        return Measurement(total.result(), {"length": table})

    @override
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Write the predictions to the MISC column.

        Raises:
            DataError: If a word is not a number that the model knows, or the format has no place for notes.
        """
        for group in consecutive_batches(sentences, self.sizes, self.config.trainer.tokens):
            with self.predicting():
                predictions = self.predictions(self.read(self.collate(group).to(self.device)))
            for sentence, prediction in zip(group, predictions, strict=True):
                try:
                    yield self.annotate(sentence, prediction, probabilities)
                except ValueError as error:
                    raise DataError(str(error), sentence.path, sentence.line) from error

    @override
    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Picture]:
        """Draw the attention of each step to each word; for models without attention, draw the outputs."""
        for sentence in sentences:
            with self.predicting():
                picture = self._picture(sentence, probabilities)
            yield picture

    @override
    def step_pictures(
        self, sentence: Sentence, step: int, spanning: Spanning = "minimum"
    ) -> Mapping[str, Picture]:
        """Draw mean-field attention: interactions, their spanning tree, and the weights after each sweep.

        Other kinds of attention have no such pictures.

        Args:
            sentence: The sentence.
            step: The step of the decoder, counted from 1.
            spanning: The kind of the spanning tree.

        Raises:
            SettingError: If there is no such step.
        """
        attention = self.network.network.attention
        if not isinstance(attention, MeanFieldAttention):
            return {}
        with self.predicting():
            memory, prediction, decoded = self._decoded(sentence)
            if not 1 <= step <= len(prediction.outputs):
                raise SettingError(f"the step is {step}; expected one from 1 to {len(prediction.outputs)}")
            query, output = decoded.queries[:, step - 1 : step], prediction.outputs[step - 1]
            return attention_pictures.of_mean_field(
                attention, query, memory.keys, sentence.forms, output, memory.lengths, spanning
            )

    def _picture(self, sentence: Sentence, probabilities: bool) -> Picture:
        _, prediction, decoded = self._decoded(sentence)
        if decoded.weights is None:
            return attention_pictures.answer_map(prediction.outputs)
        names = prediction.outputs
        if probabilities and prediction.probabilities is not None:
            names = [f"{name} ({p:.2f})" for name, p in zip(names, prediction.probabilities, strict=True)]
        return HeatMap("attention", names, sentence.forms, decoded.weights[0].tolist())

    def _decoded(self, sentence: Sentence) -> tuple[Memory, NumberPrediction, Decoded]:
        memory = self.read(self.collate([sentence]).to(self.device))
        (prediction,) = self.predictions(memory)
        return memory, prediction, self.decoded(memory, prediction)

    def _indices(self, sentence: Sentence) -> list[int]:
        symbols = [str(number) for number in numbers(sentence, self.largest)]
        for symbol in symbols:
            if symbol not in self.symbols:
                message = f"the model does not know the number {symbol}; give one of its training corpus"
                raise DataError(message, sentence.path, sentence.line)
        return self.symbols.indices(symbols)


class _Means:
    """Means of scores: sums of the shares of sentences, numerators divided by denominators."""

    def __init__(self) -> None:
        self.count = 0
        self._sums: dict[str, float] = defaultdict(float)
        self._weights: dict[str, float] = defaultdict(float)

    def add(self, shares: Shares) -> None:
        self.count += 1
        for name, (part, whole) in shares.items():
            self._sums[name] += part
            self._weights[name] += whole

    def result(self) -> dict[str, float]:
        return {name: total / self._weights[name] for name, total in self._sums.items()}
