"""Encoders with embeddings of words, characters and affixes, and a network that adds the context."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from strukt.data.vocabulary import SPECIALS, Vocabulary
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
)
from strukt.nn.probabilistic_transformer import Encoding
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.encoder.config import EncoderConfig

AFFIXES = {"prefix1": slice(1), "prefix2": slice(2), "prefix3": slice(3)} | {
    "suffix1": slice(-1, None),
    "suffix2": slice(-2, None),
    "suffix3": slice(-3, None),
}
"""The part of a word for each kind of affix."""

LONGEST_FORM = 32
"""Maximum number of characters that are read of a word; the middle of longer words is left out."""

VECTORS = "form_vectors"
"""Name of the input that holds precomputed vectors of word forms."""

KNOWN_FORMS = 100_000
"""Maximum number of word forms whose indices are cached: enough for nearly all words of most texts."""


class _Indices(NamedTuple):
    """The indices of a word form in the vocabularies: of the word, of each character, of each kind of affix."""

    word: int
    characters: list[int]
    affixes: list[int]


def word_of(config: EncoderConfig) -> Callable[[str], str]:
    """Return the function that maps a form to its entry in the vocabulary of words."""
    return normalised if config.normalise else str


def normalised(form: str) -> str:
    """Lower-case a form, and replace its digits by 0.

    Examples:
        >>> normalised("B-52s")
        'b-00s'
    """
    return re.sub(r"\d", "0", form.lower())


class FromWords(Encoder):
    """An encoder with embeddings of words, characters and affixes, and optionally a network that adds the context.

    Args:
        config: The options of the encoder.
        vocabularies: The vocabularies `words` and `characters` and, for affixes, `prefix1` to `prefix3` and
            `suffix1` to `suffix3`. Each begins with the symbols of padding and unknown words, as from
            `strukt.data.vocabulary.Vocabulary.count`.

    Attributes:
        word_of: Maps a form to its entry in the vocabulary of words.

    Raises:
        ValueError: If a vocabulary does not begin with these two symbols.
    """

    networks = ("form_vectors",)

    def __init__(self, config: EncoderConfig, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__()
        self.vocabularies = vocabularies
        for name in ("words", "characters", *AFFIXES):
            if name in vocabularies and vocabularies[name].symbols[:2] != SPECIALS:
                raise ValueError(f"the vocabulary {name} does not begin with {' and '.join(SPECIALS)}")
        self.word_of = word_of(config)
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
        """Number the distinct forms of a batch, and look up the word, characters and affixes of each form.

        `form` holds the number of the form of each word, ``(batch, n)``. The rows of the other tensors belong to
        the distinct forms: `words` ``(forms,)``; `characters` ``(forms, longest)``, where `longest` is the largest
        number of characters; and `affixes` ``(forms, kinds)``, a column for each kind of prefix or suffix. Padding
        is 0. If a form has more than `LONGEST_FORM` (32) characters, those in the middle are left out.

        Examples:
            >>> from strukt.data.vocabulary import Vocabulary
            >>> from strukt.tasks.common.encoder.config import EncoderConfig
            >>> vocabularies = {"words": Vocabulary.count("ab"), "characters": Vocabulary.count("aB")}
            >>> inputs = FromWords(EncoderConfig(), vocabularies).inputs([["a", "B", "a"], ["B"]])
            >>> inputs["form"]
            tensor([[0, 1, 0],
                    [1, 0, 0]])
        """
        row: dict[str, int] = {}
        form = [[row.setdefault(form, len(row)) for form in forms] for forms in sentences]
        known = [self._indices_of(form) for form in row]
        return {
            "words": torch.tensor([each.word for each in known], dtype=torch.long),
            "form": _padded(form),
            "characters": _padded([each.characters for each in known]),
            "affixes": torch.tensor([each.affixes for each in known], dtype=torch.long).reshape(
                len(row), len(self.kinds)
            ),
        }

    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return the vectors of words in context, ``(batch, n, size)``."""
        words = self._words(inputs)
        encoded: Tensor = words if self.context is None else self.context(words, lengths)
        return encoded

    def of_sentences(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return the vectors of sentences, ``(batch, sentence_size)``.

        With a root, they are the scores or the probabilities of its labels (`root_output`); without a root, the
        vectors of the last words.
        """
        result = self.mean_field(inputs, lengths) if self.has_root else None
        if result is None or result.root is None or result.root_scores is None:
            return super().of_sentences(inputs, lengths)
        return result.root_scores if self.root_output == "scores" else result.root

    def mean_field(self, inputs: dict[str, Tensor], lengths: Tensor) -> Encoding | None:
        """Return all mean-field distributions of a Probabilistic Transformer; None for other encoders."""
        if not isinstance(self.context, MeanFieldEncoder):
            return None
        return self.context.encode(self._words(inputs), lengths)

    @override
    def with_vectors(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        if "words" not in inputs:
            return inputs
        vectors = self.form_vectors(inputs["words"], inputs["affixes"], inputs["characters"])
        return {"form": inputs["form"], VECTORS: vectors}

    def form_vectors(self, words: Tensor, affixes: Tensor, characters: Tensor) -> Tensor:
        """Return vectors ``(forms, size)`` of distinct forms, without context or dropout.

        The arguments, `words`, `affixes` and `characters`, are tensors that the method `inputs` returns.
        """
        return self.embeddings.of_forms(words, characters, affixes)

    def _words(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the vectors of words without context, ``(batch, n, size)``, with dropout in training."""
        if VECTORS in inputs:
            return inputs[VECTORS][inputs["form"]]
        words = inputs["words"][inputs["form"]]
        of_forms = {name: inputs[name] for name in ("form", "characters", "affixes")}
        vectors: Tensor = self.dropout(self.embeddings(words, **of_forms))
        return vectors

    def penalty(self) -> Tensor | float:
        """Return the penalty on the scores of a Probabilistic Transformer, a scalar; 0 for other encoders."""
        if self.penalty_weight == 0 or not isinstance(self.context, MeanFieldEncoder):
            return 0.0
        mean_field = self.context.mean_field
        return self.penalty_weight * (mean_field.norm() if self.penalised == "norm" else mean_field.penalty())

    def _indices_of(self, form: str) -> _Indices:
        """Return the indices of a form in all vocabularies, from the cache if possible."""
        indices = self._known.get(form)
        if indices is None:
            affixes = [self.vocabularies[kind].index(form[AFFIXES[kind]]) for kind in self.kinds]
            characters = self.vocabularies["characters"].indices(_shortened(form))
            indices = _Indices(self.vocabularies["words"].index(self.word_of(form)), characters, affixes)
            if len(self._known) >= KNOWN_FORMS:
                self._known.clear()
            self._known[form] = indices
        return indices


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
    options = asdict(config.transformer)
    options |= {name: options[name] or None for name in ("feed_forward", "head_size")}
    shape = config.layers, config.heads, config.dropout
    if options.pop("published"):
        del options["norm_first"]  # always false
        return PublishedTransformer(inputs, *shape, **options)
    return Transformer(inputs, 2 * config.hidden, *shape, **options)


def _mean_field(config: EncoderConfig, inputs: int) -> MeanFieldEncoder:
    options = asdict(config.pt)
    for name in ("published", "dropout", "root_output", "penalty", "penalised"):
        del options[name]  # options of embeddings, of classifiers, and of the loss
    options["projected"] = options.pop("label_scores") == "projected"
    updates = {field.name: options.pop(field.name) for field in fields(Updates)}
    updates["head_weight"] = updates["head_weight"] or None
    options |= {"channels": config.heads, "iterations": config.layers, "dropout": config.dropout}
    return MeanFieldEncoder(inputs, 2 * config.hidden, updates=Updates(**updates), **options)


def _shortened(form: str) -> str:
    if len(form) <= LONGEST_FORM:
        return form
    return form[: LONGEST_FORM // 2] + form[-LONGEST_FORM // 2 :]


def _padded(rows: list[list[int]]) -> Tensor:
    padded = np.zeros((len(rows), max(map(len, rows), default=0)), np.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return torch.from_numpy(padded)
