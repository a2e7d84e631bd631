"""Encoders and their vocabularies, built from a configuration."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from strukt.data.vocabulary import Vocabulary
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.encoder.pretrained import Pretrained
from strukt.tasks.common.encoder.words import AFFIXES, FromWords, word_of


def build_encoder(config: EncoderConfig, vocabularies: dict[str, Vocabulary], assets: Path | None) -> Encoder:
    """Build the encoder that a configuration specifies.

    Args:
        config: The options of the encoder.
        vocabularies: The vocabularies from `count_vocabularies`, by name.
        assets: The folder that `save_assets` of a saved encoder wrote to; None for a new encoder.

    Raises:
        ValueError: If `config.kind` is ``pretrained`` and `config.pretrained` is empty, or if a vocabulary does
            not begin with `SPECIALS`.
        DataError: If a pretrained model cannot be loaded.
        SettingError: If a new pretrained model cannot read a sentence, or the options of fine-tuning do not fit
            the model.
        MissingExtraError: If transformers is not installed, or peft for LoRA adapters.
    """
    if config.kind == "pretrained":
        return Pretrained(config, assets)
    return FromWords(config, vocabularies)


def count_vocabularies(config: EncoderConfig, words: Iterable[str]) -> dict[str, Vocabulary]:
    """Return the vocabularies of words, characters and affixes that an encoder needs, by name.

    A pretrained encoder needs none.

    Args:
        config: The options of the encoder.
        words: The words of the training corpus.
    """
    if config.kind == "pretrained":
        return {}
    forms = list(words)
    vocabularies = {
        "words": Vocabulary.count(map(word_of(config), forms), config.minimum_count),
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
