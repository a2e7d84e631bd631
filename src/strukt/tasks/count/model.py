"""The model of the task count: one number for a sequence of zeros and ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from strukt.data.corpora.synthetic import chunks
from strukt.data.sentence import Sentence, add_note
from strukt.data.vocabulary import Vocabulary
from strukt.nn.encoder_decoder import Decoded, Memory
from strukt.nn.transduction import SequenceRegressor
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.mean_loss import Average
from strukt.tasks.common.numbers.model import NumberModel, NumberPrediction, Shares
from strukt.tasks.common.numbers.networks import encoder_decoder
from strukt.tasks.common.scores import not_nan
from strukt.tasks.count.config import Config


class ChunkCounter(NumberModel):
    """A model that predicts the number of chunks of ones in a sentence, as a real number.

    The scores are the mean squared error, `mse`, and `accuracy`, the percentage of sentences whose rounded
    prediction is right.

    Args:
        config: The configuration of the task.
        vocabularies: The numbers, as `symbols`.

    Examples:
        >>> from strukt.tasks.count import Config
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["1", "1", "0", "1"])
        >>> counter = ChunkCounter.from_corpus(Config(), [sentence])
        >>> counter.target(torch.tensor([1, 1, 0, 1]))  # two chunks of ones
        tensor([2])
        >>> list(counter.measure([sentence]).scores)
        ['mse', 'accuracy']
    """

    task: ClassVar[str] = "count"
    largest: ClassVar[int | None] = 1
    network: SequenceRegressor

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__(config, vocabularies)
        self.network = SequenceRegressor(
            len(self.symbols), config.size, encoder_decoder(config), config.dropout
        )

    @override
    def target(self, row: Tensor) -> Tensor:
        return torch.tensor([chunks([int(self.symbols.symbols[index]) for index in row.tolist()])])

    @property
    @override
    def mean_over(self) -> Average:
        return "sentences"

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean squared error, plus the mean loss of random contexts."""
        decoded = self.network.decoded(self.read(batch))
        counts = self.network.predicted(decoded)[:, 0, 0]
        error = functional.mse_loss(counts, batch.targets["answer"][:, 0].to(counts.dtype))
        return error + self.divergence(decoded, torch.ones_like(counts, dtype=torch.bool)[:, None]) / len(
            counts
        )

    @override
    def score_shares(self, batch: Batch) -> Iterator[Shares]:
        values = not_nan(self.network(batch.inputs["words"], batch.lengths)).tolist()
        for value, gold in zip(values, batch.targets["answer"][:, 0].tolist(), strict=True):
            yield {"mse": ((value - gold) ** 2, 1), "accuracy": (100 * (round(value) == gold), 1)}

    @override
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the negated mean squared error, from the scores of `measure`."""
        return -scores["mse"]

    @override
    def predictions(self, memory: Memory) -> list[NumberPrediction]:
        values = self.network.predicted(self.network.decoded(memory))
        return [NumberPrediction([f"{value:.2f}"]) for value in not_nan(values).flatten().tolist()]

    @override
    def decoded(self, memory: Memory, prediction: NumberPrediction) -> Decoded:
        return self.network.decoded(memory)

    @override
    def annotate(self, sentence: Sentence, prediction: NumberPrediction, probabilities: bool) -> Sentence:
        """Return the sentence with the count in a note `count=` of the first word."""
        first, *others = sentence.column("misc")
        return sentence.annotated(misc=[add_note(first, "count", prediction.outputs[0]), *others])
