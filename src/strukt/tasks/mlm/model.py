"""The masked language model, which predicts hidden words from the encoder's vectors at their positions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.data import conllu
from strukt.data.batching import batches
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import MASK, SPECIALS, Vocabulary
from strukt.errors import DataError
from strukt.nn.inputs import log_counts
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoded_model import EncodedModel
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.encoder.words import FromWords
from strukt.tasks.common.mean_loss import Average, mean_loss
from strukt.tasks.common.measurement import Measurement
from strukt.tasks.common.prediction import noted
from strukt.tasks.common.scores import not_nan
from strukt.tasks.mlm.config import Config
from strukt.viz import HeatMap

SEED = 0
"""Random seed of the hidden words in evaluation: models with equal vocabularies and options hide the same."""


class MaskedLanguageModel(EncodedModel):
    """A masked language model: predicts hidden words.

    Scores of words are dot products of word embeddings with the vectors of the encoder, directly or after a
    projection, or they are a projection of the vectors to the vocabulary.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder; `words` also holds the predicted words.
        encoder: The encoder of the words.

    Examples:
        >>> from strukt.tasks.mlm import Config
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["the", "dog", "barks"])
        >>> model = MaskedLanguageModel.from_corpus(Config(), [sentence])
        >>> [words] = model.infill([conllu.from_forms(["the", "???", "barks"])], mark="???")
        >>> words[0], words[1] in sentence.forms, words[2]
        ('the', True, 'barks')
    """

    task: ClassVar[str] = "mlm"
    config: Config
    encoder: FromWords

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        self.words = vocabularies["words"]
        kind, size = config.word_scores, self.encoder.size
        self.tied = kind != "projection"
        outputs = config.encoder.words if self.tied else len(self.words)
        self.project = nn.Identity() if kind == "direct" else nn.Linear(size, outputs)
        if self.tied:
            self.bias = nn.Parameter(torch.zeros(len(self.words)))
        if config.encoder.kind == "transformer" and config.encoder.is_published:
            self.encoder.embeddings.words.reset_parameters()  # normally distributed, unlike those of other tasks

    @override
    def start_from(self, sentences: Sequence[Sentence]) -> None:
        """Set the bias of each word to log(count + 1); special symbols get the smallest bias, 0."""
        frequencies = Counter(self._number(form) for sentence in sentences for form in sentence.forms)
        never = {self.words.index(symbol) for symbol in (*SPECIALS, MASK)}
        bias = self.biases
        counts = [0 if word in never else frequencies[word] for word in range(len(self.words))]
        with torch.no_grad():
            bias.copy_(log_counts(torch.tensor(counts), bias))

    @property
    def biases(self) -> Tensor:
        """The biases of the scores of words, ``(words,)``."""
        owner: Any = self if self.tied else self.project
        biases: Tensor = owner.bias
        return biases

    @classmethod
    @override
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences; those of more than `longest` words are split into pieces."""
        return list(_pieces(config, sentences))

    @classmethod
    @override
    def words_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        vocabularies = super().words_of(config, sentences)
        return vocabularies | {"words": Vocabulary([*vocabularies["words"].symbols, MASK])}

    @classmethod
    @override
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return no vocabulary: the predicted symbols are the words."""
        return {}

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Accept every sentence, because the model needs words only."""

    @override
    def collate(self, sentences: list[Sentence]) -> Batch:
        """Make a batch with random words hidden; the targets `words` ``(batch, n)`` are -1 for all other words."""
        return self._hidden(sentences, [self._drawn(sentence) for sentence in sentences])

    @property
    @override
    def mean_over(self) -> Average:
        return self.config.average

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-probability of a hidden word."""
        hidden = batch.targets["words"] >= 0
        losses = hidden.new_zeros(hidden.shape, dtype=torch.float32)
        losses = losses.masked_scatter(hidden, -self._log_probs_of_hidden(batch))
        return mean_loss(losses.sum(-1), hidden.sum(-1), self.mean_over)

    @override
    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """Return the perplexity of hidden words, their number, and the percentage of unknown words.

        A fixed seed chooses the hidden words, so that each call hides the same ones.

        Raises:
            DataError: If no word was hidden; unknown words never are.
        """
        pieces = list(_pieces(self.config, sentences))
        generator = torch.Generator().manual_seed(SEED)
        drawn = [self._drawn(piece, generator) for piece in pieces]
        total, count = 0.0, 0
        with self.predicting():
            for indices in batches(self.sizes(pieces), self.config.trainer.tokens):
                batch = self._hidden([pieces[index] for index in indices], [drawn[index] for index in indices])
                log_probs = self._log_probs_of_hidden(batch.to(self.device))
                total, count = total + float(not_nan(log_probs).double().sum()), count + len(log_probs)
        if count == 0:
            raise DataError("no known word was hidden, so there is nothing to measure; give more text")
        words = sum(map(len, pieces))
        unknown = sum(not self._is_known(form) for piece in pieces for form in piece.forms)
        nats = -total / count
        scores = {
            "perplexity": math.exp(nats) if nats < 700 else math.inf,
            "hidden": float(count),
            "unknown": 100 * unknown / max(words, 1),
        }
        return Measurement(scores, {})

    @override
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the negated perplexity, from the scores of `measure`."""
        return -scores["perplexity"]

    @override
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Note the probability of each word given the other words of its sentence; 0 for unknown words.

        The probabilities are noted whether `probabilities` is true or not.
        """
        for sentence in sentences:
            log_probs, known = self._leave_one_out(sentence.forms)
            yield noted(sentence, log_probs.exp() * known)

    @override
    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[HeatMap]:
        """Draw the surprisal of each word given the other words of its sentence, in bits; 0 for unknown words."""
        for sentence in sentences:
            log_probs, known = self._leave_one_out(sentence.forms)
            bits = (-log_probs / math.log(2)).masked_fill(~known, 0.0)
            yield HeatMap("bits for each word, given the others", ["bits"], sentence.forms, [bits.tolist()])

    @override
    def infill(self, sentences: Iterable[Sentence], mark: str) -> Iterator[list[str]]:
        """Yield the words of each sentence, with the most probable word in place of each missing word.

        Each missing word is predicted independently of the other missing words.
        """
        special = torch.tensor(self.words.indices([*SPECIALS, MASK]), device=self.device)
        for sentence in sentences:
            gaps = [form == mark for form in sentence.forms]
            forms = [MASK if gap else form for form, gap in zip(sentence.forms, gaps, strict=True)]
            with self.predicting():
                log_probs = self._log_probs(self._read([forms]).to(self.device))[0]
            best = log_probs.index_fill(-1, special, -torch.inf).argmax(-1)
            yield [
                self.words.symbols[word] if gap else form
                for form, gap, word in zip(forms, gaps, best.tolist(), strict=True)
            ]

    def _is_known(self, form: str) -> bool:
        word = self.encoder.word_of(form)
        return word in self.words and word not in (*SPECIALS, MASK)

    def _drawn(self, sentence: Sentence, generator: torch.Generator | None = None) -> list[bool]:
        """Choose at random, for each word, whether to hide it; unknown words stay."""
        draws = torch.rand(len(sentence), generator=generator).tolist()
        return [
            draw < self.config.mask and self._is_known(form)
            for draw, form in zip(draws, sentence.forms, strict=True)
        ]

    def _hidden(self, sentences: list[Sentence], drawn: list[list[bool]]) -> Batch:
        """Make a batch in which the words marked in `drawn` are hidden."""
        forms, targets = [], []
        for sentence, row in zip(sentences, drawn, strict=True):
            pairs = list(zip(sentence.forms, row, strict=True))
            forms.append([MASK if hide else form for form, hide in pairs])
            numbers = [self._number(form) if hide else -1 for form, hide in pairs]
            targets.append(torch.tensor(numbers, dtype=torch.long))
        batch = self._read(forms)
        words = pad_sequence(targets, batch_first=True, padding_value=-1)
        return Batch(sentences, batch.lengths, batch.inputs, {"words": words})

    def _read(self, forms: list[list[str]]) -> Batch:
        lengths = torch.tensor([len(row) for row in forms], dtype=torch.long)
        return Batch([], lengths, self.encoder.inputs(forms))

    def _number(self, form: str) -> int:
        return self.words.index(self.encoder.word_of(form))

    def _log_probs_of_hidden(self, batch: Batch) -> Tensor:
        words = batch.targets["words"]
        hidden = words >= 0
        scores = self._scores(self.encoder(batch.inputs, batch.lengths)[hidden])
        return -functional.cross_entropy(scores, words[hidden], reduction="none")

    def _log_probs(self, batch: Batch) -> Tensor:
        """Return the log-probability of every word of the vocabulary at each position, ``(batch, n, v)``."""
        return self._scores(self.encoder(batch.inputs, batch.lengths)).log_softmax(-1)

    def _scores(self, vectors: Tensor) -> Tensor:
        if not self.tied:
            return self.project(vectors).float()  # type: ignore[no-any-return]
        table = self.encoder.embeddings.words.weight
        return functional.linear(self.project(vectors), table, self.bias).float()

    def _leave_one_out(self, forms: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each word given all other words, and whether it is known, both ``(n,)``.

        One word is hidden in each row of a batch. The model is not trained to predict unknown words.
        """
        log_probs_of_words = []
        at_once = max(self.config.trainer.tokens // max(len(forms), 1), 1)
        for start in range(0, len(forms), at_once):
            places = range(start, min(start + at_once, len(forms)))
            rows = [[*forms[:place], MASK, *forms[place + 1 :]] for place in places]
            batch = self._read(rows).to(self.device)
            with self.predicting():
                vectors = self.encoder(batch.inputs, batch.lengths)
                log_probs = self._scores(vectors[range(len(places)), list(places)]).log_softmax(-1)
                log_probs_of_words += [
                    row[self._number(forms[place])] for row, place in zip(log_probs, places, strict=True)
                ]
        known = torch.tensor([self._is_known(form) for form in forms], device=self.device)
        if not log_probs_of_words:
            return torch.zeros(0), known
        return not_nan(torch.stack(log_probs_of_words)), known


def _pieces(config: Config, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    for sentence in sentences:
        if len(sentence) <= config.longest:
            yield sentence
            continue
        for start in range(0, len(sentence), config.longest):
            yield conllu.from_forms(sentence.forms[start : start + config.longest])
