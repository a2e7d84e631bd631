"""From the forms of sentences to a vector for each word: what every task begins with."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.data.vocabulary import SPECIALS, UNKNOWN, Vocabulary
from strukt.nn import (
    LSTM,
    BiLSTM,
    CharacterCNN,
    CharacterLSTM,
    GatedConvolution,
    MeanFieldEncoder,
    PublishedTransformer,
    SharedDropout,
    Transformer,
    Updates,
    WordEmbeddings,
    fine_tuning,
)
from strukt.nn.pretrained import PretrainedEncoder
from strukt.nn.probabilistic_transformer import Encoding
from strukt.tasks.config import EncoderConfig

AFFIXES = {"prefix1": slice(1), "prefix2": slice(2), "prefix3": slice(3)} | {
    "suffix1": slice(-1, None),
    "suffix2": slice(-2, None),
    "suffix3": slice(-3, None),
}
"""Which part of a word each kind of affix is."""

LONGEST_FORM = 32
"""Of a longer word the characters in the middle are left out."""


KNOWN_FORMS = 100_000
"""The most forms whose indices are kept; of texts in most languages nearly all words are among them."""


class _Indices(NamedTuple):
    """The indices of a form: of its word, of each character, and of each kind of affix."""

    word: int
    characters: list[int]
    affixes: list[int]


class Encoder(nn.Module, ABC):
    """What turns the forms of sentences into a vector for each word.

    Attributes:
        size: Size of these vectors.
        sentence_size: Size of the vector of a sentence.
        unit: Name of what is read, in the plural.
        unknown: A form that is read as an unknown word.
    """

    size: int
    sentence_size: int
    unit: str = "words"
    unknown: str = UNKNOWN

    @abstractmethod
    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """What `forward` reads, on the CPU."""

    @abstractmethod
    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Vectors `(batch, n, size)`."""

    def sizes(self, sentences: list[list[str]]) -> list[int]:
        """Count what is read of each sentence: its words."""
        return [len(forms) for forms in sentences]

    def mean_field(self, inputs: dict[str, Tensor], lengths: Tensor) -> Encoding | None:  # noqa: ARG002
        """All that mean field says of the words, if that is what encodes them."""
        return None

    def of_sentences(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """A vector `(batch, sentence_size)` for each sentence: that of its last word."""
        vectors = self(inputs, lengths)
        last = (lengths - 1).clamp(min=0).reshape(-1, 1, 1).expand(-1, -1, vectors.shape[-1])
        found: Tensor = vectors.gather(1, last).squeeze(1)
        return found

    def penalty(self) -> Tensor | float:
        """What is added to the loss, whatever the sentences."""
        return 0.0

    def rates(self) -> dict[str, float]:
        """Of parameters, by name, the share of the learning rate that they have; of all others it is 1."""
        return {}

    def save_assets(self, folder: Path) -> None:
        """Writes what is neither weight, nor vocabulary, nor configuration."""


def build_encoder(config: EncoderConfig, vocabularies: dict[str, Vocabulary], assets: Path | None) -> Encoder:
    """The encoder that a configuration asks for.

    Args:
        config: Its options.
        vocabularies: What `count_vocabularies` gave.
        assets: Where `save_assets` of a saved encoder wrote, or None for a new one.
    """
    if config.kind == "pretrained":
        return Pretrained(config, assets)
    return FromWords(config, vocabularies)


def count_vocabularies(config: EncoderConfig, words: Iterable[str]) -> dict[str, Vocabulary]:
    """The vocabularies that an encoder needs.

    Args:
        config: Its options.
        words: The words of the training corpus.
    """
    if config.kind == "pretrained":
        return {}
    forms = list(words)
    vocabularies = {
        "words": Vocabulary.count(map(_word_of(config), forms), config.minimum_count),
        "characters": Vocabulary.count(
            (character for form in forms for character in form), config.minimum_count
        ),
    }
    kinds = AFFIXES if config.affixes else {}
    affixes = {
        name: Vocabulary.count((form[part] for form in forms), config.minimum_count)
        for name, part in kinds.items()
    }
    return vocabularies | affixes


def _word_of(config: EncoderConfig) -> Callable[[str], str]:
    """From a form to its entry among the word vectors."""
    return normalised if config.normalise else str


def normalised(form: str) -> str:
    """The entry of a form among the word vectors; its characters tell upper case and digits.

    Examples:
        >>> normalised("B-52s")
        'b-00s'
    """
    return re.sub(r"\d", "0", form.lower())


class FromWords(Encoder):
    """Vectors of words, characters and affixes, read by LSTMs or a Transformer, or by nothing.

    Args:
        config: The options.
        vocabularies: What `count_vocabularies` gave.

    Attributes:
        word_of: From a form to its entry in the vocabulary of words.
    """

    def __init__(self, config: EncoderConfig, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__()
        self.vocabularies = vocabularies
        for name in ("words", "characters", *AFFIXES):
            if name in vocabularies and vocabularies[name].symbols[:2] != SPECIALS:
                raise ValueError(f"the vocabulary {name} does not begin with {' and '.join(SPECIALS)}")
        self.word_of = _word_of(config)
        self._known: dict[str, _Indices] = {}
        self.kinds = [kind for kind in AFFIXES if kind in vocabularies]
        self.embeddings = WordEmbeddings(
            len(vocabularies["words"]),
            config.words,
            _characters(config, len(vocabularies["characters"])),
            [len(vocabularies[kind]) for kind in self.kinds],
            config.affixes,
            config.word_dropout,
        )
        if config.is_published or (config.kind == "pt" and config.pt.label_scores == "table"):
            self.embeddings.start_alike()
        self.dropout = SharedDropout(config.outer_dropout)
        self.context = None if config.kind == "none" else _context(config, self.embeddings.size)
        self.penalty_weight, self.penalised = config.pt.penalty, config.pt.penalised
        self.size = self.embeddings.size if self.context is None else self.context.size
        self.has_root = config.has_root
        self.root_output = config.pt.root_output
        self.sentence_size = config.pt.root_labels if self.has_root else self.size

    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Indices of words, and of the characters and affixes of each different form.

        Examples:
            >>> from strukt.tasks.config import EncoderConfig
            >>> vocabularies = {"words": Vocabulary.count("ab"), "characters": Vocabulary.count("aB")}
            >>> inputs = FromWords(EncoderConfig(), vocabularies).inputs([["a", "B", "a"], ["B"]])
            >>> inputs["form"]
            tensor([[0, 1, 0],
                    [1, 0, 0]])
        """
        row: dict[str, int] = {}
        form = [[row.setdefault(form, len(row)) for form in forms] for forms in sentences]
        known = [self._indices_of(form) for form in row]
        words = [each.word for each in known]
        return {
            "words": _padded([[words[index] for index in rows] for rows in form]),
            "form": _padded(form),
            "characters": _padded([each.characters for each in known]),
            "affixes": torch.tensor([each.affixes for each in known], dtype=torch.long).reshape(
                len(row), len(self.kinds)
            ),
        }

    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Vectors `(batch, n, size)` of the words in their sentences."""
        words = self._words(inputs)
        encoded: Tensor = words if self.context is None else self.context(words, lengths)
        return encoded

    def of_sentences(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Scores or probabilities of the labels of the root, or the vector of the last word if there is none."""
        result = self.mean_field(inputs, lengths) if self.has_root else None
        if result is None or result.root is None or result.root_scores is None:
            return super().of_sentences(inputs, lengths)
        return result.root_scores if self.root_output == "scores" else result.root

    def mean_field(self, inputs: dict[str, Tensor], lengths: Tensor) -> Encoding | None:
        """All that a Probabilistic Transformer says of the words."""
        if not isinstance(self.context, MeanFieldEncoder):
            return None
        return self.context.encode(self._words(inputs), lengths)

    def _words(self, inputs: dict[str, Tensor]) -> Tensor:
        vectors: Tensor = self.dropout(self.embeddings(**inputs))
        return vectors

    def penalty(self) -> Tensor | float:
        """That of the scores of labels and heads of a Probabilistic Transformer."""
        if self.penalty_weight == 0 or not isinstance(self.context, MeanFieldEncoder):
            return 0.0
        mean_field = self.context.mean_field
        return self.penalty_weight * (mean_field.norm() if self.penalised == "norm" else mean_field.penalty())

    def _indices_of(self, form: str) -> _Indices:
        """Look a form up in all vocabularies, or among the forms that came before."""
        found = self._known.get(form)
        if found is None:
            affixes = [self.vocabularies[kind].index(form[AFFIXES[kind]]) for kind in self.kinds]
            characters = self.vocabularies["characters"].indices(_shortened(form))
            found = _Indices(self.vocabularies["words"].index(self.word_of(form)), characters, affixes)
            if len(self._known) >= KNOWN_FORMS:
                self._known.clear()
            self._known[form] = found
        return found


class Pretrained(Encoder):
    """A pretrained Hugging Face model.

    Args:
        config: The options.
        assets: Where tokenizer and configuration of a saved encoder are, or None for a new one.
    """

    unit = "word pieces"

    def __init__(self, config: EncoderConfig, assets: Path | None) -> None:
        super().__init__()
        if not config.pretrained:
            raise ValueError("encoder.pretrained: name the folder or hub name of the model to start from")
        self.words = (
            PretrainedEncoder.load(config.pretrained)
            if assets is None
            else PretrainedEncoder.from_assets(assets)
        )
        options = config.fine_tuning
        self.words.model = fine_tuning.prepared(
            self.words.model, options.frozen if options.rate else None, options.lora, options.recompute
        )
        found = fine_tuning.rates(self.words.model, options.rate, options.decay)
        self._rates = {f"words.model.{name}": rate for name, rate in found.items()}
        if assets is None:
            self.words.require_reads()
        self.size = self.sentence_size = self.words.size
        self.unknown = self.words.tokenizer.unk_token or UNKNOWN

    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Word pieces in windows."""
        return self.words.inputs(sentences)

    @override
    def sizes(self, sentences: list[list[str]]) -> list[int]:
        """Count the word pieces of each sentence, in all windows, with the special ones."""
        return self.words.sizes(sentences)

    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Vectors `(batch, n, size)` of the words in their sentences."""
        encoded: Tensor = self.words(inputs, lengths)
        return encoded

    def rates(self) -> dict[str, float]:
        """Those of the layers."""
        return self._rates

    def save_assets(self, folder: Path) -> None:
        """Writes tokenizer and configuration."""
        self.words.save_assets(folder)


def _characters(config: EncoderConfig, count: int) -> CharacterCNN | CharacterLSTM | None:
    if config.characters == "none":
        return None
    kind = CharacterCNN if config.characters == "cnn" else CharacterLSTM
    return kind(count, config.character_size)


def _context(
    config: EncoderConfig, inputs: int
) -> BiLSTM | LSTM | GatedConvolution | Transformer | PublishedTransformer | MeanFieldEncoder:
    width = 2 * config.hidden
    if config.kind == "bilstm":
        return BiLSTM(inputs, config.hidden, config.layers, config.dropout)
    if config.kind == "lstm":
        return LSTM(inputs, width, config.layers, config.dropout)
    if config.kind == "convolution":
        return GatedConvolution(inputs, width, config.layers, config.dropout)
    if config.kind == "pt":
        return _mean_field(config, inputs)
    return _transformer(config, inputs)


def _transformer(config: EncoderConfig, inputs: int) -> Transformer | PublishedTransformer:
    given = asdict(config.transformer)
    options = given | {name: given[name] or None for name in ("feed_forward", "head_size")}
    shape = config.layers, config.heads, config.dropout
    if options.pop("published"):
        del options["norm_first"]  # which it never does
        return PublishedTransformer(inputs, *shape, **options)
    return Transformer(inputs, 2 * config.hidden, *shape, **options)


def _mean_field(config: EncoderConfig, inputs: int) -> MeanFieldEncoder:
    given = asdict(config.pt)
    for name in ("published", "dropout", "root_output", "penalty", "penalised"):
        del given[name]  # of the words, of what is read, or of the loss
    given["projected"] = given.pop("label_scores") == "projected"
    of_updates = {field.name: given.pop(field.name) for field in fields(Updates)}
    of_updates["head_weight"] = of_updates["head_weight"] or None
    options = {"channels": config.heads, "iterations": config.layers, "dropout": config.dropout, **given}
    return MeanFieldEncoder(inputs, 2 * config.hidden, updates=Updates(**of_updates), **options)


def _shortened(form: str) -> str:
    if len(form) <= LONGEST_FORM:
        return form
    return form[: LONGEST_FORM // 2] + form[-LONGEST_FORM // 2 :]


def _padded(rows: list[list[int]]) -> Tensor:
    found = np.zeros((len(rows), max(map(len, rows), default=0)), np.int64)
    for number, row in enumerate(rows):
        found[number, : len(row)] = row
    return torch.from_numpy(found)
