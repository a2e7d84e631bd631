"""The language model: words and their numbers around a distribution over texts."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.automata import Automaton
from strukt.data import brackets, conllu
from strukt.data.batching import batches, runs
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import END, UNKNOWN, Vocabulary
from strukt.errors import SettingError
from strukt.metrics.unlabelled import UnlabelledF1, uninformed
from strukt.nn import CompoundPCFG, KneserNey, MeanFieldAttention, NeuralHMM, NeuralPCFG
from strukt.nn.left_to_right import LeftToRightModel
from strukt.nn.recurrent import RecurrentLanguageModel
from strukt.tasks.common import attention_pictures
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.model import Measurement, Model
from strukt.tasks.common.scores import not_nan
from strukt.tasks.lm.brown_clusters import blocks_of
from strukt.tasks.lm.config import GRAMMARS, Config
from strukt.tasks.lm.networks import source_of
from strukt.tasks.lm.texts.hmm import HiddenMarkovText
from strukt.tasks.lm.texts.left_to_right import LeftToRightText
from strukt.tasks.lm.texts.ngram import CountedText
from strukt.tasks.lm.texts.pcfg import GrammaticalText
from strukt.tasks.lm.texts.text import Text
from strukt.viz import Graph
from strukt.viz.pictures.interactions import Spanning
from strukt.viz.svg import Picture

BEGINNING = "·"
"""The mark in pictures for the missing word before the first."""

TOGETHER = 32
"""The most sentences that are annotated at once."""


class LanguageModel(Model):
    """Knows how probable texts are."""

    task: ClassVar[str] = "lm"
    config: Config

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__(config, vocabularies)
        self.words = vocabularies["words"]
        self.end = self.words.index(END)
        self.source = source_of(config, len(self.words))

    @classmethod
    @override
    def from_corpus(cls, config: Config, sentences: Sequence[Sentence]) -> LanguageModel:
        """A new model with the words of a corpus, the frequent ones first."""
        counts = Counter(form for sentence in sentences for form in sentence.forms)
        frequent = sorted((-count, form) for form, count in counts.items() if count >= config.minimum_count)
        words = Vocabulary([UNKNOWN, END, *(form for _, form in frequent)])
        if config.blocks > len(words):
            raise SettingError(f"--blocks is {config.blocks}; expected at most the {len(words)} words")
        model = cls(config, {"words": words})
        if isinstance(model.source, (NeuralHMM, LeftToRightModel)):
            texts = [model._numbers(sentence).tolist() for sentence in sentences]
            found = Counter(chain.from_iterable(texts))
            model.source.begin_with(torch.tensor([found[word] for word in range(len(words))]))
            if isinstance(model.source, NeuralHMM) and config.blocks:
                model.source.assign(blocks_of(config, words, texts))
        return model

    @classmethod
    @override
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """The sentences, of grammars those of two and more words; of a stream, pieces of the same length."""
        if config.text == "stream":
            stream = chain.from_iterable([*sentence.forms, END] for sentence in sentences)
            pieces = iter(lambda: list(islice(stream, config.context)), [])
            return [conllu.from_forms(piece) for piece in pieces]
        longer = [sentence for sentence in sentences if len(sentence) > 1 or config.model not in GRAMMARS]
        if len(longer) < len(sentences):
            warnings.warn(
                f"{len(sentences) - len(longer)} of {len(sentences)} sentences have one word, for which a grammar "
                "has no tree, and are left out",
                stacklevel=2,
            )
        return longer

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Words are all that is needed."""

    @override
    def sizes(self, sentences: Sequence[Sentence]) -> list[int]:
        """Count the words of each sentence, its end included where it is one."""
        return [len(self._forms(sentence)) for sentence in sentences]

    @override
    def collate(self, sentences: list[Sentence]) -> Batch:
        """The numbers of the words, `words` `(batch, n)`."""
        rows = [self._numbers(sentence) for sentence in sentences]
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        words = pad_sequence(rows, batch_first=True) if rows else torch.zeros(0, 0, dtype=torch.long)
        return Batch(sentences, lengths, {"words": words})

    @override
    def loss(self, batch: Batch) -> Tensor:
        """The mean negative log-probability of a word."""
        device = self.device.type
        # Probabilities of hidden states and rules are computed in 32 bits; only networks gain by fewer.
        fewer = torch.is_autocast_enabled(device) and isinstance(self.source, LeftToRightModel)
        with torch.autocast(device, torch.get_autocast_dtype(device), enabled=fewer):
            log_probs, _ = self.text().stream(batch.inputs["words"], batch.lengths)
        return -log_probs.sum() / batch.lengths.sum()

    @override
    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Count n-grams, if the model is made of them."""
        if isinstance(self.source, KneserNey):
            self.source.count([self._numbers(sentence) for sentence in sentences])

    @override
    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """Perplexity, bits for each word, and percent of unknown words; ends of sentences are words, too.

        Of grammars also the F1 of their trees, in per cent, where the sentences have some, and a table of what
        trees reach that know nothing of the sentences.
        """
        corpus = [
            sentence for sentence in sentences if len(sentence) > 1 or self.config.model not in GRAMMARS
        ]
        words = sum(len(sentence) + 1 for sentence in corpus)
        unknown = sum(form not in self.words for sentence in corpus for form in sentence.forms)
        with self.predicting():
            total = self._stream(corpus) if self.config.text == "stream" else self._sentences(corpus)
        nats = -total / max(words, 1)
        perplexity = math.exp(nats) if nats < 700 else math.inf
        scores = {
            "perplexity": perplexity,
            "bits": nats / math.log(2),
            "unknown": 100 * unknown / max(words, 1),
        }
        known = [sentence for sentence in corpus if isinstance(sentence, brackets.Sentence)]
        if self.config.model not in GRAMMARS or not known:
            return Measurement(scores, {})
        found = [
            sentence.tree for sentence in self.annotations(known) if isinstance(sentence, brackets.Sentence)
        ]
        metric = UnlabelledF1()
        for gold, tree in zip(known, found, strict=True):
            metric.update(gold.tree, tree)
        others = uninformed(sentence.tree for sentence in known)
        return Measurement(scores | metric.result(), {"trees": {"grammar": metric.result()} | others})

    @override
    def quality(self, scores: Mapping[str, float]) -> float:
        """The lower the perplexity, the better."""
        return -scores["perplexity"]

    @override
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Note the probability of each word given those before it; a grammar gives trees."""
        for group, words, lengths in self._groups(sentences):
            with self.predicting():
                annotated = self.text().annotated(group, words, lengths)
            yield from annotated

    @override
    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Picture]:
        """The states behind the words, their tree, or how many bits each word takes."""
        for group, words, lengths in self._groups(sentences):
            with self.predicting():
                text = self.text()
                pictures = [
                    text.picture(self._forms(sentence), row[None, :length])
                    for sentence, row, length in zip(group, words, lengths, strict=True)
                ]
            yield from pictures

    @override
    def state_graph(self) -> Graph | None:
        with self.predicting():
            text = self.text()
            return text.state_graph() if isinstance(text, HiddenMarkovText) else None

    @override
    def step_pictures(
        self, sentence: Sentence, step: int, spanning: Spanning = "minimum"
    ) -> Mapping[str, Picture]:
        """Draw how mean-field attention looks back from the place in front of a word; the first sees nothing."""
        source = self.source
        if not isinstance(source, RecurrentLanguageModel) or not isinstance(
            source.attention, MeanFieldAttention
        ):
            return {}
        forms = self._forms(sentence)
        if not 2 <= step <= len(forms):
            raise SettingError(f"the step is {step}; expected a word from 2 to {len(forms)}")
        with self.predicting():
            state, words = source.beginning(1), self._numbers(sentence).to(self.device)
            query, keys, places = source.look_back(torch.cat([state.word, words[: step - 1]])[None])
            seen = [BEGINNING, *forms][places]
            return attention_pictures.of_mean_field(
                source.attention, query, keys, seen, forms[step - 1], spanning=spanning
            )

    def generate(self, count: int, longest: int, constraint: Automaton | None = None) -> list[list[str]]:
        """Draw sentences.

        Args:
            count: How many.
            longest: Words after which a sentence is cut off.
            constraint: A set of sentences, over the numbers of words; all sentences drawn are in it, with exactly
                the probabilities that the model gives them among these. Sentences that are cut off must be in it,
                too; of a grammar all sentences are whole.

        Raises:
            SettingError: With a constraint, if the model has neither hidden states nor rules.
            InfeasibleError: If no sentence meets the constraint.
        """
        drawn = self._drawn(count, longest, constraint).tolist()
        ends = [next((at for at, word in enumerate(row) if word in (self.end, -1)), longest) for row in drawn]
        return [
            [self.words.symbols[word] for word in row[:end]] for row, end in zip(drawn, ends, strict=True)
        ]

    def _drawn(self, count: int, longest: int, constraint: Automaton | None) -> Tensor:
        """Numbers of words ``(count, longest)``."""
        with self.predicting():
            text = self.text()
            if constraint is None or count == 0:
                return text.sample(count, longest)
        guide = text.guide(constraint, longest, self.end)  # not in inference mode: grammars take derivatives
        not_nan(guide.log_prob(guide.start()))
        return guide.sample(count)

    @override
    def infill(self, sentences: Iterable[Sentence], mark: str) -> Iterator[list[str]]:
        """Fill missing words by a model of hidden states."""
        for group, words, lengths in self._groups(sentences):
            rows = [torch.tensor([form == mark for form in self._forms(sentence)]) for sentence in group]
            gaps = pad_sequence(rows, batch_first=True).to(words.device)
            with self.predicting():
                best = self._most_probable(self.text().infill(words, gaps, lengths))
            for sentence, row in zip(group, best.tolist(), strict=True):
                yield [
                    self.words.symbols[found] if form == mark else form
                    for form, found in zip(sentence.forms, row, strict=False)
                ]

    def _most_probable(self, log_probs: Tensor) -> Tensor:
        """Real words, neither the end of a sentence nor the unknown word."""
        special = torch.tensor([self.end, self.words.index(UNKNOWN)], device=log_probs.device)
        return log_probs.index_fill(2, special, -torch.inf).argmax(2)

    def text(self) -> Text:
        """The distribution over texts; in training without what dropout leaves out."""
        symbols, source = self.words.symbols, self.source
        if isinstance(source, NeuralHMM):
            return HiddenMarkovText(symbols, source())
        if isinstance(source, NeuralPCFG | CompoundPCFG):
            return GrammaticalText(symbols, source)
        if isinstance(source, KneserNey):
            return CountedText(symbols, source)
        assert isinstance(source, LeftToRightModel)
        return LeftToRightText(symbols, source)

    def _forms(self, sentence: Sentence) -> list[str]:
        """The words of a sentence, and its end, if it is for itself, and not the end of a tree as well."""
        ends = self.config.text == "sentences" and self.config.model not in GRAMMARS
        return [*sentence.forms, END] if ends else sentence.forms

    def _numbers(self, sentence: Sentence) -> Tensor:
        return torch.tensor(self.words.indices(self._forms(sentence)), dtype=torch.long)

    def _sentences(self, sentences: Sequence[Sentence]) -> float:
        """The log-probability of a corpus, sentence by sentence."""
        text, total = self.text(), 0.0
        for indices in batches(self.sizes(sentences), self.config.trainer.tokens):
            batch = self.collate([sentences[index] for index in indices]).to(self.device)
            log_probs, _ = text.stream(batch.inputs["words"], batch.lengths)
            total += float(not_nan(log_probs).double().sum())
        return total

    def _stream(self, sentences: Sequence[Sentence]) -> float:
        """The log-probability of a corpus as some streams at once, each in pieces, from state to state."""
        words = self.words.indices(form for sentence in sentences for form in [*sentence.forms, END])
        streams = max(min(self.config.trainer.tokens // self.config.context, len(words)), 1)
        rows = torch.tensor(words).tensor_split(streams)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        table = pad_sequence(list(rows), batch_first=True).to(self.device)
        text, state, total = self.text(), None, 0.0
        for start in range(0, table.shape[1], self.config.context):
            piece = table[:, start : start + self.config.context]
            left = (lengths - start).clamp(min=0, max=piece.shape[1])
            log_probs, state = text.stream(piece, left, state)
            total += float(not_nan(log_probs).double().sum())
        return total

    def _groups(self, sentences: Iterable[Sentence]) -> Iterator[tuple[list[Sentence], Tensor, Tensor]]:
        """Some sentences at a time, as they come, with their words and lengths."""
        for group in runs(sentences, self.sizes, self.config.trainer.tokens, TOGETHER):
            batch = self.collate(group).to(self.device)
            yield group, batch.inputs["words"], batch.lengths
