"""The language model: a distribution over texts, with its vocabulary, batches and predictions."""

from __future__ import annotations

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
from strukt.data.batching import consecutive_batches
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import END, UNKNOWN, Vocabulary
from strukt.errors import SettingError
from strukt.nn import CompoundPCFG, KneserNey, NeuralHMM, NeuralPCFG
from strukt.nn.left_to_right import LeftToRightModel
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.measurement import Measurement
from strukt.tasks.common.model import Model
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.sentences import trainable_sentences
from strukt.tasks.lm import induced_trees
from strukt.tasks.lm.brown_clusters import blocks_of
from strukt.tasks.lm.config import GRAMMARS, Config
from strukt.tasks.lm.networks import source_of
from strukt.tasks.lm.perplexity import log_prob_of_sentences, log_prob_of_streams, scores_of
from strukt.tasks.lm.step_pictures import pictures_of_step
from strukt.tasks.lm.texts.hmm import HiddenMarkovText
from strukt.tasks.lm.texts.left_to_right import LeftToRightText
from strukt.tasks.lm.texts.ngram import CountedText
from strukt.tasks.lm.texts.pcfg import GrammaticalText
from strukt.tasks.lm.texts.text import Text
from strukt.viz import Graph
from strukt.viz.pictures.interactions import Spanning
from strukt.viz.svg import Picture


class LanguageModel(Model):
    """A language model of any kind: hidden Markov model, grammar, network or n-grams.

    Arguments are those of `Model`, with the vocabulary `words`.

    Examples:
        >>> from strukt.data import conllu
        >>> from strukt.tasks.lm import Config
        >>> sentences = [conllu.from_forms(["dogs", "bark"]), conllu.from_forms(["cats", "bark"])]
        >>> model = LanguageModel.from_corpus(Config(), sentences)
        >>> list(model.measure(sentences).scores), len(model.generate(count=3, longest=5))
        (['perplexity', 'bits', 'unknown'], 3)
    """

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
        """Build a model with the words of a corpus, the most frequent first, and biases from their counts.

        Raises:
            SettingError: If there are more blocks than words, or another number of clusters in the file.
            DataError: If the file of clusters cannot be read.
        """
        counts = Counter(form for sentence in sentences for form in sentence.forms)
        frequent = sorted((-count, form) for form, count in counts.items() if count >= config.minimum_count)
        words = Vocabulary([UNKNOWN, END, *(form for _, form in frequent)])
        if config.blocks > len(words):
            raise SettingError(f"--blocks is {config.blocks}; expected at most the {len(words)} words")
        model = cls(config, {"words": words})
        if isinstance(model.source, (NeuralHMM, LeftToRightModel)):
            texts = [model._numbers(sentence).tolist() for sentence in sentences]
            frequencies = Counter(chain.from_iterable(texts))
            model.source.begin_with(torch.tensor([frequencies[word] for word in range(len(words))]))
            if isinstance(model.source, NeuralHMM) and config.blocks:
                model.source.assign(blocks_of(config, words, texts))
        return model

    @classmethod
    @override
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences, or the pieces of a stream; for grammars, without sentences of a single word."""
        if config.text == "stream":
            stream = chain.from_iterable([*sentence.forms, END] for sentence in sentences)
            pieces = iter(lambda: list(islice(stream, config.context)), [])
            return [conllu.from_forms(piece) for piece in pieces]
        return trainable_sentences(
            sentences,
            [len(sentence) > 1 or config.model not in GRAMMARS for sentence in sentences],
            "sentences have a single word, for which a grammar has no tree",
        )

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Accept every sentence, because the model needs words only."""

    @override
    def sizes(self, sentences: Sequence[Sentence]) -> list[int]:
        """Return the number of words of each sentence, counting its end if the model predicts it as a word."""
        return [len(self._forms(sentence)) for sentence in sentences]

    @override
    def weight(self, sentences: Sequence[Sentence]) -> int:
        return sum(self.sizes(sentences))

    @override
    def collate(self, sentences: list[Sentence]) -> Batch:
        """Make a batch with the word indices of the sentences, `words` ``(batch, n)``."""
        rows = [self._numbers(sentence) for sentence in sentences]
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        words = pad_sequence(rows, batch_first=True) if rows else torch.zeros(0, 0, dtype=torch.long)
        return Batch(sentences, lengths, {"words": words})

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-probability of a word; for compound grammars, an estimated upper bound."""
        device = self.device.type
        # Probabilities of hidden states and rules need 32 bits; only networks may use fewer.
        fewer = torch.is_autocast_enabled(device) and isinstance(self.source, LeftToRightModel)
        with torch.autocast(device, torch.get_autocast_dtype(device), enabled=fewer):
            log_probs, _ = self.text().stream(batch.inputs["words"], batch.lengths)
        return -log_probs.sum() / batch.lengths.sum()

    @override
    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Count the n-grams of the sentences if the model is an n-gram model; others have nothing to count."""
        if isinstance(self.source, KneserNey):
            self.source.count([self._numbers(sentence) for sentence in sentences])

    @override
    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """Return perplexity, bits per word and the percentage of unknown words; ends of sentences count as words.

        Grammars leave out sentences of one word. For sentences with trees, they also return the unlabelled F1 of
        their trees, and a table that compares it with the F1 of uninformed trees, such as right-branching trees.
        """
        is_grammar = self.config.model in GRAMMARS
        corpus = [sentence for sentence in sentences if len(sentence) > 1 or not is_grammar]
        words = sum(len(sentence) + 1 for sentence in corpus)
        unknown = sum(form not in self.words for sentence in corpus for form in sentence.forms)
        with self.predicting():
            scores = scores_of(self._log_prob(corpus), words, unknown)
        parsed = [sentence for sentence in corpus if isinstance(sentence, brackets.Sentence)]
        if not is_grammar or not parsed:
            return Measurement(scores, {})
        trees = induced_trees.measured(parsed, self.annotations(parsed))
        return Measurement(scores | trees.scores, trees.details)

    @override
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the negated perplexity, from the scores of `measure`."""
        return -scores["perplexity"]

    @override
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Note the probability of each word given the words before it; for grammars, replace the trees.

        The probabilities are noted whether `probabilities` is true or not.
        """
        for group, words, lengths in self._groups(sentences):
            with self.predicting():
                annotated = self.text().annotated(group, words, lengths)
            yield from annotated

    @override
    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Picture]:
        """Draw the hidden states of the words, their tree, or their surprisals, depending on the model."""
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
        """Draw mean-field attention to the words before the word at `step`; empty for other models.

        Raises:
            SettingError: If `step` is not from 2 to the number of words.
        """
        with self.predicting():
            words = self._numbers(sentence).to(self.device)
            return pictures_of_step(self.source, self._forms(sentence), words, step, spanning)

    def generate(self, count: int, longest: int, constraint: Automaton | None = None) -> list[list[str]]:
        """Sample sentences, as lists of words without the end symbol.

        Args:
            count: Number of sentences.
            longest: Maximum number of words; longer sentences are cut off.
            constraint: A regular language over word indices. Sentences are exact samples from the model under this
                condition; those that are cut off meet it, too. With a constraint, a grammar cuts no sentence off.

        Raises:
            SettingError: If there is a constraint, and the model has neither hidden states nor rules, is a
                compound grammar, or is a low-rank grammar with too many rules.
            InfeasibleError: If no sentence meets the constraint.
            ValueError: If `count` or `longest` is negative; with a constraint, if `longest` is 0, or if the number
                of words differs from that of the vocabulary.
            ScoresError: If the scores of the model cannot be used, for example because they are NaN, or if a
                grammar needs too many rules for a word.
        """
        if min(count, longest) < 0:
            raise ValueError(f"count is {count} and longest is {longest}; expected 0 or more")
        drawn = self._drawn(count, longest, constraint).tolist()
        ends = [next((at for at, word in enumerate(row) if word in (self.end, -1)), longest) for row in drawn]
        return [
            [self.words.symbols[word] for word in row[:end]] for row, end in zip(drawn, ends, strict=True)
        ]

    def _drawn(self, count: int, longest: int, constraint: Automaton | None) -> Tensor:
        """Sample word indices, ``(count, longest)``."""
        with self.predicting():
            text = self.text()
            if constraint is None or count == 0:
                return text.sample(count, longest)
        guide = text.guide(constraint, longest, self.end)  # not in inference mode: grammars take derivatives
        not_nan(guide.log_prob(guide.start()))
        return guide.sample(count)

    @override
    def infill(self, sentences: Iterable[Sentence], mark: str) -> Iterator[list[str]]:
        """Replace each missing word by the most probable one, given the words that are not missing.

        Raises:
            SettingError: If the model has no hidden states.
        """
        for group, words, lengths in self._groups(sentences):
            rows = [torch.tensor([form == mark for form in self._forms(sentence)]) for sentence in group]
            gaps = pad_sequence(rows, batch_first=True).to(words.device)
            with self.predicting():
                best = self._most_probable(self.text().infill(words, gaps, lengths))
            for sentence, row in zip(group, best.tolist(), strict=True):
                yield [
                    self.words.symbols[word] if form == mark else form
                    for form, word in zip(sentence.forms, row, strict=False)
                ]

    def _most_probable(self, log_probs: Tensor) -> Tensor:
        """Return the most probable word at each position, other than the end of a sentence and unknown words."""
        special = torch.tensor([self.end, self.words.index(UNKNOWN)], device=log_probs.device)
        return log_probs.index_fill(2, special, -torch.inf).argmax(2)

    def text(self) -> Text:
        """Return the distribution over texts; in training, after dropout of states and features."""
        symbols, source = self.words.symbols, self.source
        if isinstance(source, NeuralHMM):
            return HiddenMarkovText(symbols, source())
        if isinstance(source, (NeuralPCFG, CompoundPCFG)):
            return GrammaticalText(symbols, source)
        if isinstance(source, KneserNey):
            return CountedText(symbols, source)
        assert isinstance(source, LeftToRightModel)
        return LeftToRightText(symbols, source)

    def _forms(self, sentence: Sentence) -> list[str]:
        """Return the words of a sentence, followed by its end unless the model is a grammar or reads a stream."""
        ends = self.config.text == "sentences" and self.config.model not in GRAMMARS
        return [*sentence.forms, END] if ends else sentence.forms

    def _numbers(self, sentence: Sentence) -> Tensor:
        return torch.tensor(self.words.indices(self._forms(sentence)), dtype=torch.long)

    def _log_prob(self, sentences: Sequence[Sentence]) -> float:
        """Return the log-probability of a corpus: sentence by sentence, or as several streams in parallel."""
        tokens, context = self.config.trainer.tokens, self.config.context
        if self.config.text == "sentences":
            return log_prob_of_sentences(self.text(), self.collated(sentences))
        words = self.words.indices(form for sentence in sentences for form in [*sentence.forms, END])
        count = max(min(tokens // context, len(words)), 1)
        streams = torch.tensor(words, device=self.device).tensor_split(count)
        return log_prob_of_streams(self.text(), streams, context)

    def _groups(self, sentences: Iterable[Sentence]) -> Iterator[tuple[list[Sentence], Tensor, Tensor]]:
        """Yield groups of a few sentences, with their word indices, ``(batch, n)``, and lengths."""
        for group in consecutive_batches(sentences, self.sizes, self.config.trainer.tokens):
            batch = self.collate(group).to(self.device)
            yield group, batch.inputs["words"], batch.lengths
