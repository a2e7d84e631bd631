"""The model of the task sort: a sequence of numbers from a sequence of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.nn.encoder_decoder import Decoded, Memory
from strukt.nn.encoders import mask_of
from strukt.nn.transduction import SequenceTransducer
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.numbers.model import NumberModel, NumberPrediction, Shares
from strukt.tasks.common.numbers.networks import encoder_decoder
from strukt.tasks.common.prediction import probability_notes, without_probabilities
from strukt.tasks.common.scores import not_nan
from strukt.tasks.sort.config import Config


class Sorter(NumberModel):
    """A model that outputs the numbers of a sentence in ascending order.

    Each step may output any number of the training corpus, not only those of the sentence.

    The scores are `nll` and `nll_word`, the mean negative log-probability of the right answer and of a number in
    it; `exact`, the percentage of sentences with the right answer; and `accuracy`, that of numbers in the right
    place.

    Args:
        config: The configuration of the task.
        vocabularies: The numbers, as `symbols`.

    Examples:
        >>> from strukt.tasks.sort import Config
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["30", "10", "20"])
        >>> sorter = Sorter.from_corpus(Config(), [sentence])
        >>> sorter.symbols.symbols, sorter.target(torch.tensor([2, 0, 1]))
        (('10', '20', '30'), tensor([0, 1, 2]))
        >>> [row.partition("=")[0] for row in next(sorter.predict([sentence])).column("misc")]
        ['sorted', 'sorted', 'sorted']
    """

    task: ClassVar[str] = "sort"
    network: SequenceTransducer

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__(config, vocabularies)
        self.network = SequenceTransducer(
            len(self.symbols), config.size, encoder_decoder(config), config.dropout
        )

    @override
    def target(self, row: Tensor) -> Tensor:
        return row.sort().values

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-probability of a number, plus the mean loss of random contexts."""
        decoded, log_probs, inside = self._answered(batch)
        return (self.divergence(decoded, inside) - log_probs.sum()) / batch.lengths.sum()

    @override
    def score_shares(self, batch: Batch) -> Iterator[Shares]:
        symbols = self.network.greedy(self.read(batch), batch.inputs["words"].shape[1]).symbols
        right = (symbols == batch.targets["answer"]).sum(1).tolist()
        _, log_probs, _ = self._answered(batch)
        losses = (-not_nan(log_probs).double().sum(1)).tolist()
        for loss, hits, length in zip(losses, right, batch.lengths.tolist(), strict=True):
            yield {
                "nll": (loss, 1),
                "nll_word": (loss, length),
                "exact": (100 * (hits == length), 1),
                "accuracy": (100 * hits, length),
            }

    @override
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the mean log-probability of the right answer of a sentence, from the scores of `measure`."""
        return -scores["nll"]

    @override
    def predictions(self, memory: Memory) -> list[NumberPrediction]:
        greedy = self.network.greedy(memory, memory.keys.shape[1])
        return [
            NumberPrediction(
                [self.symbols.symbols[symbol] for symbol in row[:length]], log_probs[:length].exp()
            )
            for row, log_probs, length in zip(
                greedy.symbols.tolist(), greedy.log_probs, memory.lengths.tolist(), strict=True
            )
        ]

    @override
    def decoded(self, memory: Memory, prediction: NumberPrediction) -> Decoded:
        symbols = torch.tensor([self.symbols.indices(prediction.outputs)], device=memory.keys.device)
        return self.network.decoded(memory, symbols)

    @override
    def annotate(self, sentence: Sentence, prediction: NumberPrediction, probabilities: bool) -> Sentence:
        """Return the sentence with the outputs in notes `sorted=`, that of step i at word i."""
        noted = without_probabilities(sentence, tags=True).with_misc(sorted=prediction.outputs)
        if not probabilities or prediction.probabilities is None:
            return noted
        return noted.with_misc(p=probability_notes(prediction.probabilities))

    def _answered(self, batch: Batch) -> tuple[Decoded, Tensor, Tensor]:
        """Return the decoder's steps for the right answers, log-probabilities (0 in padding), and the mask."""
        inside = mask_of(batch.lengths, batch.inputs["words"].shape[1])
        answer = batch.targets["answer"].masked_fill(~inside, 0)
        decoded = self.network.decoded(self.read(batch), answer)
        log_probs = self.network.predicted(decoded).log_softmax(-1)
        return decoded, log_probs.gather(2, answer[..., None]).squeeze(2).masked_fill(~inside, 0), inside
