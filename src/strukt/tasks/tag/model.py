"""The tagger: scores for each word's tags, and a linear-chain distribution over tag sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.data import conllu
from strukt.data.check.tags import partial_scheme_problems, scheme_problems, untagged_problem
from strukt.data.sentence import UNANNOTATED, Sentence
from strukt.data.tag_schemes import scheme_of, tag_fault
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import LinearChain
from strukt.errors import DataError
from strukt.metrics.accuracy import Accuracy
from strukt.metrics.span_f1 import SpanF1
from strukt.nn import CRF, SharedDropout, tag_constraints
from strukt.nn.inputs import precise
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.mean_loss import Average, cross_entropies, mean_loss
from strukt.tasks.common.partial_annotation import (
    agreeing_values,
    cross_entropies_of_sets,
    forbidden_parts,
    forbidden_targets,
    losses_of_sets,
    with_annotation,
)
from strukt.tasks.common.prediction import WordPrediction, probability_notes
from strukt.tasks.common.structure_predictor import StructurePredictor
from strukt.tasks.common.symbols import COLUMN, Forms
from strukt.tasks.tag.config import Config
from strukt.tasks.tag.partial_tags import forbidden_tags, require_possible
from strukt.tasks.tag.token_codes import TokenCodes
from strukt.viz import HeatMap, Lattice


class Tagger(StructurePredictor):
    """A tagger: predicts a label for each word.

    With criteria other than crf, transition scores stay 0, so that the chain is a softmax for each word.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and the tags as `labels`.
        encoder: The encoder of the words.

    Attributes:
        codes: The layer of binary codes for the criterion bits; otherwise None.
        marks_spans: True if tags mark spans, as with constraints or a tag that begins with `B-`.

    Examples:
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag import Config
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> tagger = Tagger.from_corpus(Config(criterion="crf"), [sentence])
        >>> tagger.vocabularies["labels"].symbols, tagger.distribution([sentence]).marginals.shape
        (('NNS', 'VBP'), torch.Size([1, 2, 2]))
        >>> [tagged] = tagger.predict("Dogs bark")
        >>> tagged.forms, set(tagged.column("xpos")) <= {"NNS", "VBP"}
        (['Dogs', 'bark'], True)
    """

    task: ClassVar[str] = "tag"
    outputs: ClassVar[Forms] = {"labels": COLUMN}
    networks: tuple[str, ...] = ("scores",)
    config: Config

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        labels = vocabularies["labels"]
        self.dropout = SharedDropout(config.encoder.outer_dropout)
        self.codes = TokenCodes(config, self.encoder.size, labels) if config.criterion == "bits" else None
        self.score = nn.Linear(self.encoder.size, len(labels))
        rules = config.constraints
        self.crf = CRF(len(labels), None if rules == "none" else tag_constraints(labels.symbols, rules))
        self.crf.requires_grad_(config.criterion == "crf")
        self.marks_spans = config.constraints != "none" or any(
            label.startswith("B-") for label in labels.symbols
        )

    @classmethod
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences to train on: all of them, or with `partial` those with any annotation.

        Raises:
            DataError: If tags break the scheme of the constraints, or some are missing without `partial`.
        """
        if config.partial:
            return cls._partly_tagged(config, sentences)
        filled = any(tag != "_" for sentence in sentences for tag in _tags(config, sentence))
        for sentence in sentences if filled else []:
            _require_tagged(config, sentence, isinstance(sentence, conllu.Sentence))
        return sentences

    @classmethod
    def _partly_tagged(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences with any tag, after checking that missing tags can be filled in by the scheme."""
        tagged = with_annotation(sentences, [cls.has_annotation(config, sentence) for sentence in sentences])
        labels = cls.labels_of(config, tagged)["labels"]
        if config.constraints != "none":
            if fault := tag_fault(labels.symbols, scheme_of(config.constraints)):
                raise DataError(f"{fault}, or choose other --constraints", config.train)
            for sentence in tagged:
                tags = _tags(config, sentence)
                for problem in partial_scheme_problems(sentence, tags, config.constraints, labels.symbols):
                    raise problem.error()
        for sentence in tagged:
            require_possible(sentence, _tags(config, sentence), labels.symbols)
        return tagged

    @staticmethod
    @override
    def has_annotation(config: Config, sentence: Sentence) -> bool:
        return bool(_known_tags(config, sentence) or forbidden_tags(sentence))

    @classmethod
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the tags of the training corpus, as the vocabulary `labels`.

        Raises:
            DataError: If there are fewer than two different tags.
        """
        labels = Vocabulary.labels(tag for sentence in sentences for tag in _known_tags(config, sentence))
        if len(labels) < 2:
            present = ", ".join(labels.symbols) or "none"
            column = _column(config, sentences[0]) if sentences else config.column
            raise DataError(
                f"column {column}: expected at least two different tags, found {present}", config.train
            )
        return {"labels": labels}

    @property
    def selection(self) -> str:
        """The score that selects the best epoch: F1 if the tags mark spans, otherwise accuracy."""
        return "f1" if self.marks_spans else "accuracy"

    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return the tag indices, `tags` ``(n,)``; with `partial`, -1 if unannotated, and the forbidden tags."""
        labels, partial = self.vocabularies["labels"], self.config.partial
        numbers = [
            -1 if partial and tag == UNANNOTATED else labels.index(tag) for tag in self.observed(sentence)
        ]
        targets = {"tags": torch.tensor(numbers, dtype=torch.long)}
        if not partial:
            return targets
        indices = [(word, labels.index(tag)) for word, tag in forbidden_tags(sentence) if tag in labels]
        return targets | forbidden_targets(indices, 2)

    @property
    @override
    def mean_over(self) -> Average:
        return self.config.average

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of the tags, by `Config.average`, plus the weighted loss of codes, if any."""
        tags = batch.targets["tags"]
        emissions, bits = self._read(batch.inputs, batch.lengths)
        if self.config.partial:
            return mean_loss(self._losses_of_sets(emissions, batch), batch.lengths, self.mean_over)
        if self.config.criterion == "crf":
            chain: LinearChain = self.crf(emissions, batch.lengths)
            return mean_loss(-chain.log_prob(tags), batch.lengths, self.mean_over)
        loss = mean_loss(cross_entropies(emissions, tags), batch.lengths, self.mean_over)
        if self.codes is None or bits is None:
            return loss
        _, others = self.codes(self._words(batch.inputs, batch.lengths), batch.lengths)
        return loss + self.config.code_weight * self.codes.loss(bits, others, batch)

    def _losses_of_sets(self, emissions: Tensor, batch: Batch) -> Tensor:
        """Return the negative log-probability of the tags that agree with partial annotation, ``(batch,)``."""
        forbidden = forbidden_parts(batch.targets, emissions.shape)
        agreeing = agreeing_values(batch.targets["tags"], forbidden)
        if self.config.criterion != "crf":
            return cross_entropies_of_sets(emissions, emissions.masked_fill(~agreeing, -torch.inf))
        chain: LinearChain = self.crf(emissions, batch.lengths)
        return losses_of_sets(chain, chain.condition(forbidden=~agreeing))

    def distribution_of(self, batch: Batch) -> LinearChain:
        """Return the distribution over tag sequences."""
        return LinearChain(*self.scores(batch.inputs, batch.lengths), batch.lengths)

    def scores(self, inputs: dict[str, Tensor], lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of tags, ``(batch, n, labels)``, and of transitions, ``(labels, labels)``.

        Args:
            inputs: The inputs of the encoder, as in `Batch.inputs`.
            lengths: ``(batch,)``, the numbers of words.
        """
        emissions, _ = self._read(inputs, lengths)
        return self.crf.scores(emissions, lengths)

    @override
    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Count the tags of each code, if there are codes."""
        if self.codes is not None:
            with self.predicting():
                self.codes.count(self._coded(sentences))

    @override
    def code_distances(self) -> HeatMap | None:
        return None if self.codes is None else self.codes.distances()

    @override
    def lattice(self, sentence: Sentence) -> Lattice:
        with self.predicting():
            chain = self.distribution([sentence])
            assert isinstance(chain, LinearChain)
            marginals, transitions = chain.marginals[0].tolist(), chain.transition_marginals[0].tolist()
        return Lattice(sentence.forms, self.vocabularies["labels"].symbols, marginals, transitions)

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[WordPrediction]:
        """Return the best tags; with `probabilities`, also notes `p`, the marginal probability of each tag.

        If words have codes, these notes also have `code`, in hexadecimal digits. There are two more scores:
        `code_agreement`, the percentage of words whose code stands for the predicted tag, and `unseen_codes`, that
        of words whose code did not occur in the training corpus.
        """
        chain, bits = self._predicted(batch)
        tags, of_tags = chain.mode, None
        if probabilities:
            of_tags = chain.marginals.gather(-1, tags.clamp(min=0).unsqueeze(-1)).squeeze(-1).cpu()
        symbols, predictions = self.vocabularies["labels"].symbols, []
        for row, (sentence, indices) in enumerate(zip(batch.sentences, tags.tolist(), strict=True)):
            n = len(sentence)
            notes = {} if of_tags is None else {"p": probability_notes(of_tags[row, :n])}
            best, shares = [symbols[index] for index in indices[:n]], {}
            if self.codes is not None and bits is not None:
                codes = self.codes.codes(bits[row, :n]).tolist()
                shares = self.codes.shares(codes, best)
                if probabilities:
                    notes["code"] = [f"{code:0{(self.config.bits + 3) // 4}x}" for code in codes]
            predictions.append(WordPrediction({_column(self.config, sentence): best}, notes, shares))
        return predictions

    def _predicted(self, batch: Batch) -> tuple[LinearChain, Tensor | None]:
        """Return the distribution over tag sequences, and scores of the bits of codes; None without codes."""
        if self.codes is None:
            return self.distribution_of(batch), None  # calls `scores`, which exported models replace
        emissions, bits = self._read(batch.inputs, batch.lengths)
        return LinearChain(*self.crf.scores(emissions, batch.lengths), batch.lengths), bits

    def metric(self) -> Accuracy | SpanF1:
        """Return the metric: F1 of spans if the tags mark spans, otherwise accuracy."""
        return SpanF1() if self.marks_spans else Accuracy()

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError if a word has no tag, or tags break the scheme of the constraints."""
        _require_tagged(self.config, sentence, UNANNOTATED not in self.vocabularies["labels"])

    def observed(self, sentence: Sentence) -> list[str]:
        """Return the tags of a sentence."""
        return _tags(self.config, sentence)

    def _words(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        words: Tensor = self.dropout(self.encoder(inputs, lengths))
        return words

    def _read(self, inputs: dict[str, Tensor], lengths: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return scores of tags, ``(batch, n, labels)``, and of bits of codes, ``(batch, n, bits)``, or None."""
        words, bits = self._words(inputs, lengths), None
        if self.codes is not None:
            words, bits = self.codes(words, lengths)
        return precise(self.score(words)), bits

    def _coded(self, sentences: Sequence[Sentence]) -> Iterator[tuple[int, int]]:
        """Yield the code and the tag index of each word."""
        assert self.codes is not None
        for batch in self.collated(sentences):
            _, bits = self.codes(self._words(batch.inputs, batch.lengths), batch.lengths)
            inside = batch.targets["tags"] >= 0
            codes = self.codes.codes(bits[inside]).tolist()
            yield from zip(codes, batch.targets["tags"][inside].tolist(), strict=True)


def _column(config: Config, sentence: Sentence) -> str:
    return config.column if isinstance(sentence, conllu.Sentence) else "tag"


def _tags(config: Config, sentence: Sentence) -> list[str]:
    return sentence.column(_column(config, sentence))


def _known_tags(config: Config, sentence: Sentence) -> list[str]:
    """Return the tags of the annotated words."""
    return [tag for tag in _tags(config, sentence) if not (config.partial and tag == UNANNOTATED)]


def _require_tagged(config: Config, sentence: Sentence, all_words: bool) -> None:
    """Raise a DataError if tags break the scheme of the constraints or, with `all_words`, a word has no tag."""
    if all_words and (untagged := untagged_problem(sentence, _column(config, sentence))):
        raise untagged.error()
    for problem in scheme_problems(sentence, _tags(config, sentence), config.constraints):
        raise problem.error()
