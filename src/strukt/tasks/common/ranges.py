"""Ranges of numeric options, and checks that the options of an encoder fit each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from strukt.errors import SettingError
from strukt.tasks.common.options import flat, require_types
from strukt.tasks.common.uses import require_read

Range = tuple[str, Callable[[Any], bool]]

MOST_SEEDS = 1 << 64
"""The number of different seeds of PyTorch."""

MOST_THREADS = 1024
"""The largest number of threads in training; PyTorch crashes if the system refuses to start a thread."""

_COUNT: Range = ("1 or more", lambda value: value >= 1)
_SIZE: Range = ("0 or more", lambda value: value >= 0)
_POSITIVE: Range = ("more than 0", lambda value: value > 0)
_SHARE: Range = ("0 or more, and less than 1", lambda value: 0 <= value < 1)
_OPEN: Range = ("more than 0, and less than 1", lambda value: 0 < value < 1)
_BITS: Range = ("from 1 to 62", lambda value: 1 <= value <= 62)
_STEP: Range = ("more than 0, and at most 1", lambda value: 0 < value <= 1)
_DISTANCE: Range = ("0 or more, or null", lambda value: value is None or value >= 0)
_PART: Range = ("from 0 to 1", lambda value: 0 <= value <= 1)
_SEED: Range = (f"from 0 to {MOST_SEEDS - 1}", lambda value: 0 <= value < MOST_SEEDS)
_THREADS: Range = (f"from 0 to {MOST_THREADS}", lambda value: 0 <= value <= MOST_THREADS)

RANGES: Mapping[str, Range] = MappingProxyType(
    {
        "arc_size": _COUNT,
        "label_size": _COUNT,
        "span_size": _COUNT,
        "bits": _BITS,
        "budget": _COUNT,
        "code_weight": _SIZE,
        "temperature": _POSITIVE,
        "tree_weight": _SIZE,
        "minimum_count": _COUNT,
        "context": _COUNT,
        "mask": _OPEN,
        "hide": _SHARE,
        "longest": _COUNT,
        "states": _COUNT,
        "blocks": _SIZE,
        "nonterminals": _COUNT,
        "preterminals": _COUNT,
        "rank": _COUNT,
        "size": _COUNT,
        "latent": _SIZE,
        "latent.count": _COUNT,
        "latent.arc_size": _COUNT,
        "latent.hidden": _COUNT,
        "layers": _COUNT,
        "heads": _COUNT,
        "order": _COUNT,
        "iterations": _SIZE,
        "damping": _SHARE,
        "tol": _SHARE,
        "rivalry": _SIZE,
        "kl_weight": _SIZE,
        "state_dropout": _SHARE,
        "feature_dropout": _SHARE,
        "dropout": _SHARE,
        "tag_weight": _SIZE,
        "encoder.layers": _COUNT,
        "encoder.hidden": _COUNT,
        "encoder.heads": _COUNT,
        "encoder.dropout": _SHARE,
        "encoder.words": _COUNT,
        "encoder.minimum_count": _COUNT,
        "encoder.word_dropout": _SHARE,
        "encoder.character_size": _COUNT,
        "encoder.affixes": _SIZE,
        "encoder.fine_tuning.rate": _SIZE,
        "encoder.fine_tuning.decay": _STEP,
        "encoder.fine_tuning.frozen": _SIZE,
        "encoder.fine_tuning.lora": _SIZE,
        "encoder.transformer.reach": _COUNT,
        "encoder.transformer.feed_forward": _SIZE,
        "encoder.transformer.head_size": _SIZE,
        "encoder.pt.rank": _COUNT,
        "encoder.pt.distance": _DISTANCE,
        "encoder.pt.dependency_labels": _SIZE,
        "encoder.pt.features": _SIZE,
        "encoder.pt.label_weight": _POSITIVE,
        "encoder.pt.head_weight": _SIZE,
        "encoder.pt.label_step": _STEP,
        "encoder.pt.head_step": _STEP,
        "encoder.pt.label_damping": _SHARE,
        "encoder.pt.head_damping": _SHARE,
        "encoder.pt.root_labels": _SIZE,
        "encoder.pt.penalty": _SIZE,
        "optimizer.learning_rate": _POSITIVE,
        "optimizer.halve_after": _COUNT,
        "optimizer.beta1": _SHARE,
        "optimizer.beta2": _SHARE,
        "optimizer.weight_decay": _SIZE,
        "optimizer.warmup": _PART,
        "optimizer.clip": _POSITIVE,
        "optimizer.averaging": _SHARE,
        "trainer.epochs": _COUNT,
        "trainer.max_minutes": _SIZE,
        "trainer.patience": _COUNT,
        "trainer.sentences": _SIZE,
        "trainer.tokens": _COUNT,
        "trainer.seed": _SEED,
        "trainer.checkpoint_steps": _COUNT,
        "trainer.devices": _COUNT,
        "trainer.threads": _THREADS,
    }
)
"""The range of each numeric option by its dotted name: in words, and as a predicate."""


def require_valid(config: Any) -> None:
    """Check the options of a task: the range of each, whether they fit each other, and whether all have an effect.

    Args:
        config: The configuration of a task, a dataclass.

    Raises:
        SettingError: If an option is invalid; the message names it, its value and the expected values.

    Examples:
        >>> from strukt.tasks.common.config import TaskConfig, TrainerConfig
        >>> require_valid(TaskConfig(trainer=TrainerConfig(epochs=0)))
        Traceback (most recent call last):
        strukt.errors.SettingError: --trainer.epochs is 0; expected 1 or more
    """
    require_possible(config)
    config.require_fitting()
    require_read(config)


def require_possible(config: Any) -> None:
    """Check that a model can be built with these options; unlike `require_valid`, allow options without effect.

    Args:
        config: The configuration of a task, a dataclass.

    Raises:
        SettingError: If an option is invalid; the message names it, its value and the expected values.
    """
    try:
        require_types(config, "--")
    except ValueError as error:
        raise SettingError(str(error)) from None
    options = flat(dataclasses.asdict(config))
    for name, (expected, accepts) in RANGES.items():
        if name in options and not accepts(options[name]):
            raise SettingError(f"--{name} is {options[name]}; expected {expected}")
    if "encoder.kind" in options:
        _require_published(config.encoder.published_options(), options)
        _require_fitting_encoder(options)
    if options.get("word_scores") == "direct":
        _require_vectors_that_score(options)


def _require_fitting_encoder(options: Mapping[str, Any]) -> None:
    kind, width, heads = options["encoder.kind"], 2 * options["encoder.hidden"], options["encoder.heads"]
    if kind == "transformer" and not options["encoder.transformer.head_size"] and width % heads:
        raise SettingError(
            f"--encoder.heads is {heads}; expected a divisor of {width}, twice --encoder.hidden, for a Transformer"
            "; or give --encoder.transformer.head_size"
        )
    if kind == "pretrained" and not options["encoder.pretrained"]:
        raise SettingError(
            "--encoder.pretrained is missing; give the folder or hub name of the pretrained model"
        )
    if kind == "pt" and options["encoder.pt.label_scores"] == "table":
        _require_table(options)
    characters, size = options["encoder.characters"], options["encoder.character_size"]
    multiple = {"cnn": 3, "lstm": 2}.get(characters, 1)
    if size % multiple:
        raise SettingError(
            f"--encoder.character_size is {size}; expected a multiple of {multiple} for --encoder.characters "
            f"{characters}"
        )


def _require_table(options: Mapping[str, Any]) -> None:
    """Check that the embedding of a word has the size of its row in the table of scores."""
    expected = {"words": 2 * options["encoder.hidden"], "characters": "none", "affixes": 0}
    for name, value in expected.items():
        if options[f"encoder.{name}"] != value:
            raise SettingError(
                f"--encoder.{name} is {options[f'encoder.{name}']}; expected {value} for "
                "--encoder.pt.label_scores table, a score for each word and label"
            )


def _require_vectors_that_score(options: Mapping[str, Any]) -> None:
    """Check that word embeddings and vectors of the encoder, which are multiplied, have the same size."""
    words, width = options["encoder.words"], 2 * options["encoder.hidden"]
    if words != width:
        raise SettingError(
            f"--encoder.words is {words}; expected {width}, twice --encoder.hidden, for --word_scores direct, "
            "products of word embeddings with the vectors of the encoder"
        )


def _require_published(published: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Check that the options are those of the published model; only minimum_count may differ."""
    for name, value in published.items():
        if name != "minimum_count" and options[f"encoder.{name}"] != value:
            raise SettingError(
                f"--encoder.{name} is {options[f'encoder.{name}']}; "
                f"--encoder.{options['encoder.kind']}.published true sets it to {value}"
            )
    decomposition = options["encoder.pt.decomposition"]
    if published and options["encoder.kind"] == "pt" and decomposition in ("weighted", "biased"):
        raise SettingError(
            f"--encoder.pt.decomposition {decomposition} is not published; choose full, uv or uvw"
        )
