"""The semantic parser: a linear classifier for each of the five tags that encode a logical form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.data.logical_forms import NONE, SELF, Tags, cogs
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.metrics.logical_forms import LogicalForms
from strukt.nn import SharedDropout
from strukt.tasks.cogs.config import Config
from strukt.tasks.cogs.parent_attention import ParentAttention
from strukt.tasks.cogs.prediction import TagsPrediction
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.mean_loss import Average, mean_cross_entropy
from strukt.tasks.common.prediction import Prediction
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.sentence_model import SentenceModel
from strukt.tasks.common.sentences import require_format, trainable_sentences
from strukt.tasks.common.symbols import COLUMN, PARENT, Forms

NO_PLACE = "-1"
"""The symbol in place of the parent's position, for a word without a parent, if positions are absolute."""


class SemanticParser(SentenceModel):
    r"""A semantic parser: predicts the five tags of each word (`strukt.data.logical_forms.Tags`) independently.

    Source: Ontañón et al. (2021), "Making Transformers Solve Compositional Tasks"; Wu and Tu (2023),
    "Probabilistic Transformer", appendix D.4.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and those of the tags, by their names.
        encoder: The encoder of the words.

    Examples:
        >>> from strukt.tasks.cogs import Config
        >>> import io
        >>> from strukt.data.logical_forms import cogs
        >>> [sentence] = cogs.read(io.BytesIO(b"Emma ate .\teat . agent ( x _ 1 , Emma )\n"))
        >>> parser = SemanticParser.from_corpus(Config(), [sentence])
        >>> parser.vocabularies["role"].symbols, parser.vocabularies["verb"].symbols
        (('_', 'agent'), ('_', 'eat'))
        >>> [annotated] = parser.predict("Emma ate .")
        >>> set(annotated.column("role")) <= {"_", "agent"}
        True
    """

    task: ClassVar[str] = "cogs"
    outputs: ClassVar[Forms] = {**dict.fromkeys(Tags._fields, COLUMN), "parent": PARENT}
    config: Config

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        self.projected = [name for name in Tags._fields if name in vocabularies]
        self.tag_sizes = [len(vocabularies[name]) for name in self.projected]
        self.dropout = SharedDropout(config.encoder.outer_dropout)
        self.parents = ParentAttention(self.encoder.size) if config.parents == "attention" else None
        self.score = nn.Linear(self.encoder.size, sum(self.tag_sizes))

    @classmethod
    @override
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences whose logical forms tags can express; a warning counts the others.

        Raises:
            DataError: If a sentence has no logical form.
        """
        annotated = [_annotated(sentence).in_scheme(config.scheme) for sentence in sentences]
        return trainable_sentences(
            annotated,
            [sentence.tags is not None for sentence in annotated],
            "sentences have a logical form that tags cannot express",
        )

    @classmethod
    @override
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return a vocabulary of the values of each tag, by its name; parents by attention need none."""
        columns = [_columns(config, _annotated(sentence)) for sentence in sentences]
        names = Tags._fields if config.parents != "attention" else Tags._fields[1:]
        return {
            name: Vocabulary.labels(tag for of_sentence in columns for tag in of_sentence[name])
            for name in names
        }

    @property
    def selection(self) -> str:
        """The score that selects the best epoch: the percentage of sentences with all tags right."""
        return "sentences"

    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return the index of the value of each tag, by its name: ``(n,)`` each.

        For parents by attention, it is the position of the parent, from 0; a word without a parent is its own.
        """
        columns = _columns(self.config, _annotated(sentence))
        indices = {name: self.vocabularies[name].indices(columns[name]) for name in self.projected}
        if self.parents is not None:
            heads = _heads(_annotated(sentence))
            indices["parent"] = [word if head is None else head for word, head in enumerate(heads)]
        return {name: torch.tensor(of_tag, dtype=torch.long) for name, of_tag in indices.items()}

    @override
    def collate(self, sentences: list[Sentence], with_targets: bool = True) -> Batch:
        """Make a batch, on the CPU; in training, hide random words from the encoder."""
        batch = super().collate(sentences, with_targets)
        if not (self.training and with_targets and self.config.hide):
            return batch
        hidden = torch.rand(batch.targets["verb"].shape) < self.config.hide
        forms = [
            [self.encoder.unknown if hide else form for form, hide in zip(sentence.forms, row, strict=False)]
            for sentence, row in zip(sentences, hidden.tolist(), strict=True)
        ]
        targets = batch.targets | {"verb": batch.targets["verb"].masked_fill(hidden, -1)}
        return replace(batch, inputs=self.encoder.inputs(forms), targets=targets)

    @property
    @override
    def mean_over(self) -> Average:
        return self.config.average

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-likelihood of a word's tags, summed over the five tags."""
        scores = self._scores(batch)
        losses = [
            mean_cross_entropy(of_tag, batch.targets[name], self.mean_over) for name, of_tag in scores.items()
        ]
        return torch.stack(losses).sum()

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[TagsPrediction]:
        """Return the best tags; the probability of a word is the product of those of its tags."""
        best = {name: of_tag.log_softmax(-1).max(-1) for name, of_tag in self._scores(batch).items()}
        indices = {name: tags.indices.tolist() for name, tags in best.items()}
        certain = not_nan(torch.stack([tags.values for tags in best.values()]).sum(0)).exp().tolist()
        predictions = []
        for row, n in enumerate(batch.lengths.tolist()):
            columns = {name: self._named(name, rows[row][:n]) for name, rows in indices.items()}
            predictions.append(TagsPrediction(Tags(**columns), certain[row][:n] if probabilities else ()))
        return predictions

    def metric(self) -> LogicalForms:
        """Return the metric: percentages of sentences with all tags right, and with the right logical form."""
        return LogicalForms()

    def observed(self, sentence: Sentence) -> cogs.Sentence:
        """Return the sentence with tags in the scheme of the model; raise a DataError without a logical form."""
        return _annotated(sentence).in_scheme(self.config.scheme)

    @override
    def compared(self, gold: Sentence, prediction: Prediction) -> Sentence:
        """Return the sentence with the predicted tags."""
        return prediction.annotate(gold)

    def require_usable(self, sentence: Sentence) -> None:
        """Raise a DataError unless the sentence is from a file of logical forms, or from text."""
        _cogs(sentence)

    def require_place(self, sentence: Sentence) -> None:
        """Always raise a DataError: logical forms have no place for probabilities."""
        raise DataError(
            "logical forms have no place for probabilities; leave them out, or draw them with strukt show",
            sentence.path,
            sentence.line,
        )

    def _scores(self, batch: Batch) -> dict[str, Tensor]:
        """Return the scores of each tag, ``(batch, n, values)``; of parents by attention, ``(batch, n, n)``."""
        vectors = self.dropout(self.encoder(batch.inputs, batch.lengths))
        parts = torch.split(self.score(vectors).float(), self.tag_sizes, -1)
        scores = dict(zip(self.projected, parts, strict=True))
        return scores if self.parents is None else scores | {"parent": self.parents(vectors, batch.lengths)}

    def _named(self, name: str, indices: list[int]) -> list[str]:
        """Return the values of a tag for the words of a sentence, with parents as offsets from the word."""
        none = SELF if self.config.scheme == "published" else NONE
        if name in self.vocabularies:
            symbols = self.vocabularies[name].symbols
            column = [symbols[index] for index in indices]
            if name != "parent" or self.config.parents == "relative":
                return column
            places = [None if tag == NO_PLACE else int(tag) for tag in column]
        else:
            places = [None if place == word else place for word, place in enumerate(indices)]
        return [none if place is None else str(place - word) for word, place in enumerate(places)]


def _columns(config: Config, sentence: cogs.Sentence) -> dict[str, list[str]]:
    """Return the values of each tag as the model predicts them: with parents as positions if they are absolute."""
    columns = {name: sentence.column(name) for name in Tags._fields}
    if config.parents == "absolute":
        columns["parent"] = [NO_PLACE if head is None else str(head) for head in _heads(sentence)]
    return columns


def _heads(sentence: cogs.Sentence) -> list[int | None]:
    """Return the position of the parent of each word, from 0; None without a parent."""
    assert sentence.tags is not None
    return sentence.tags.heads


def _cogs(sentence: Sentence) -> cogs.Sentence:
    return require_format(sentence, cogs.Sentence, "a semantic parser needs a file of logical forms, or text")


def _annotated(sentence: Sentence) -> cogs.Sentence:
    annotated = _cogs(sentence)
    if annotated.tags is None and not annotated.logical_form:
        raise cogs.missing(annotated).error()
    return annotated
