"""Which values the options of a configuration can have, beyond their types."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from strukt.errors import SettingError
from strukt.tasks import classify, dependency, listops, lm, ner, nli, tag
from strukt.tasks.config import FittingConfig, SpanTaskConfig, TaskConfig, from_dict
from strukt.tasks.number_config import NumberConfig

Range = tuple[str, Callable[[Any], bool]]

_COUNT: Range = ("a number from 1 on", lambda value: value >= 1)
_SIZE: Range = ("0 or more", lambda value: value >= 0)
_POSITIVE: Range = ("a number above 0", lambda value: value > 0)
_SHARE: Range = ("from 0 up to, but not including, 1", lambda value: 0 <= value < 1)
_OPEN: Range = ("between 0 and 1", lambda value: 0 < value < 1)
_BITS: Range = ("from 1 to 62", lambda value: 1 <= value <= 62)
_STEP: Range = ("above 0, and at most 1", lambda value: 0 < value <= 1)
_DISTANCE: Range = ("0 or more, or null", lambda value: value is None or value >= 0)
_PART: Range = ("from 0 to 1", lambda value: 0 <= value <= 1)

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
        "trainer.seed": _SIZE,
        "trainer.checkpoint_steps": _COUNT,
        "trainer.devices": _COUNT,
        "trainer.threads": _SIZE,
    }
)
"""For each option that is a number, its range in words and as a test."""


@dataclass(frozen=True)
class _Use:
    """Options that are read only if others have certain values.

    Attributes:
        tasks: The configurations that have them.
        name: That of the option, or how the names of several begin.
        needs: When they are read, in words.
        is_read: The same as a test of the configuration.
    """

    tasks: tuple[type, ...]
    name: str
    needs: str
    is_read: Callable[[Any], bool]


def _of_encoder(name: str, kind: str) -> _Use:
    return _Use(
        (TaskConfig,), f"encoder.{name}", f"--encoder.kind {kind}", lambda it: it.encoder.kind == kind
    )


def _of_spans(name: str, *criteria: str) -> _Use:
    *most, last = criteria
    needs = f"--criterion {', '.join(most)} or {last}" if most else f"--criterion {last}"
    return _Use((SpanTaskConfig,), name, needs, lambda it: it.criterion in criteria)


def _of_tags(name: str) -> _Use:
    return _Use((tag.Config,), name, "--criterion bits", lambda it: it.criterion == "bits")


_TAGS = "--criterion flat, which tags words"
_CLASSES, _LISTS, _PAIRS = (classify.Config, nli.Config), (listops.Config,), (nli.Config,)
_NUMBERS = (NumberConfig,)

_USES = (
    _Use(
        (FittingConfig,),
        "optimizer.halve_after",
        "--optimizer.schedule halving",
        lambda it: it.optimizer.schedule == "halving",
    ),
    _Use(
        (FittingConfig,),
        "optimizer.warmup",
        "--optimizer.schedule linear",
        lambda it: it.optimizer.schedule == "linear",
    ),
    _of_encoder("transformer.", "transformer"),
    _of_encoder("pt.", "pt"),
    _Use(
        (TaskConfig,),
        "encoder.pt.symmetric_messages",
        "--encoder.pt.symmetric true",
        lambda it: it.encoder.pt.symmetric,
    ),
    _of_encoder("pretrained", "pretrained"),
    _of_encoder("fine_tuning.", "pretrained"),
    _Use(
        (TaskConfig,),
        "encoder.pt.root_output",
        "the task classify and --encoder.pt.root_labels",
        lambda it: isinstance(it, classify.Config) and it.model == "encoder" and it.encoder.has_root,
    ),
    _Use(
        (classify.Config,),
        "token",
        "--model encoder, and no root in its place (--encoder.pt.root_labels)",
        lambda it: it.model == "encoder" and not it.encoder.has_root,
    ),
    _Use((lm.Config,), "features", "--model lowrank-hmm", lambda it: it.model == "lowrank-hmm"),
    *(
        _Use((lm.Config,), name, "--model hmm or lowrank-hmm", lambda it: it.model in ("hmm", "lowrank-hmm"))
        for name in ("temperature", "vectors", "blocks")
    ),
    _Use((lm.Config,), "clusters", "--blocks", lambda it: it.blocks > 0),
    _Use((ner.Config,), "scheme", _TAGS, lambda it: it.criterion == "flat"),
    _Use((ner.Config,), "decoder", _TAGS, lambda it: it.criterion == "flat"),
    _Use((ner.Config,), "average", _TAGS, lambda it: it.criterion == "flat"),
    _Use(_CLASSES, "latent.", "--model latent-tree", lambda it: it.model == "latent-tree"),
    _Use(_CLASSES, "latent.estimator", "--latent.tree latent", lambda it: it.latent.tree == "latent"),
    _Use(_CLASSES, "latent.arc_size", "--latent.tree latent", lambda it: it.latent.tree == "latent"),
    _Use(_CLASSES, "latent.detach", "--latent.tree latent", lambda it: it.latent.tree == "latent"),
    _Use(
        _CLASSES,
        "latent.count",
        "--latent.estimator topk or sample",
        lambda it: it.latent.estimator in ("topk", "sample"),
    ),
    _Use((dependency.Config,), "unlabelled", "--criterion tree", lambda it: it.criterion == "tree"),
    _Use(_LISTS, "estimator", "--structure tree", lambda it: it.structure == "tree"),
    _Use(_LISTS, "budget", "--structure tree-budget", lambda it: it.structure == "tree-budget"),
    _Use(
        _LISTS,
        "iterations",
        "--structure tree-budget, or tree with --estimator sparsemap or sparse-marginals",
        lambda it: (
            it.structure == "tree-budget"
            or (it.structure == "tree" and it.estimator in ("sparsemap", "sparse-marginals"))
        ),
    ),
    *(_of_tags(name) for name in ("bits", "variant", "code_weight", "code_labels")),
    _of_spans("span_size", "likelihood", "margin"),
    _of_spans("label_size", "likelihood", "margin", "bits"),
    *(_of_spans(name, "bits", "bits-published") for name in ("bits", "variant")),
    *(_of_spans(name, "bits") for name in ("temperature", "tree_weight", "code_words")),
    _Use(_PAIRS, "attention", "--model attention", lambda it: it.model == "attention"),
    _Use(
        _PAIRS,
        "iterations",
        "--attention lp-matching or lp-sequence",
        lambda it: it.model == "attention" and it.attention in ("lp-matching", "lp-sequence"),
    ),
    *(
        _Use(_NUMBERS, name, "--attention mean-field", lambda it: it.attention == "mean-field")
        for name in ("scores", "tol")
    ),
    *(
        _Use(_NUMBERS, name, "--attention variational", lambda it: it.attention == "variational")
        for name in ("prior", "kl_weight")
    ),
    _Use(_NUMBERS, "start", "--attention none", lambda it: it.attention == "none"),
    _Use(_NUMBERS, "rivalry", "--scores low-rank", lambda it: it.scores == "low-rank"),
    *(
        _Use((lm.Config,), name, "--model mfa", lambda it: it.model == "mfa")
        for name in ("scores", "damping", "tol", "input_feeding")
    ),
    _Use(_NUMBERS, "input_feeding", "an --attention", lambda it: it.attention != "none"),
    _Use(_NUMBERS, "output_context", "an --attention", lambda it: it.attention != "none"),
)


def require_valid(config: Any) -> None:
    """Check the options of a task, each for itself and those that depend on each other.

    Args:
        config: The configuration of a task, a dataclass.

    Raises:
        SettingError: An option has a value that cannot be; the message names it, and what is expected.

    Examples:
        >>> from strukt.tasks.config import TaskConfig, TrainerConfig
        >>> require_valid(TaskConfig(trainer=TrainerConfig(epochs=0)))
        Traceback (most recent call last):
        strukt.errors.SettingError: --trainer.epochs is 0; expected a number from 1 on
    """
    require_possible(config)
    options = _flat(dataclasses.asdict(config))
    _require_fitting(options)
    _require_read(config, options)


def require_possible(config: Any) -> None:
    """Check that there can be a model of these options, be it that some of them are not read.

    Args:
        config: The configuration of a task, a dataclass.

    Raises:
        SettingError: As for `require_valid`.
    """
    options = _flat(dataclasses.asdict(config))
    for name, (expected, accepts) in RANGES.items():
        if name in options and not accepts(options[name]):
            raise SettingError(f"--{name} is {options[name]}; expected {expected}")
    if "encoder.kind" in options:
        _require_published(config.encoder.published_options(), options)
        _require_fitting_encoder(options)


def _require_fitting(options: Mapping[str, Any]) -> None:
    if options.get("constraints", "none") != "none" and options["criterion"] != "crf":
        raise SettingError("--constraints needs --criterion crf; without it each tag is chosen for itself")
    if "mask" in options and options["encoder.kind"] == "pretrained":
        raise SettingError("--encoder.kind pretrained has no vectors of words to guess; choose another kind")
    if options.get("encoder.kind") == "none" and ("mask" in options or options.get("model") == "encoder"):
        raise SettingError(
            "--encoder.kind none shows each word itself alone; choose one that reads sentences"
        )
    if options.get("structure") == "none" and options["target"] == "value":
        raise SettingError(
            "--target value reads what hangs on the root, where --structure none leaves nothing; choose flat, or "
            "the task classify"
        )
    if options.get("target") == "value" and options["reads"] == "nothing":
        raise SettingError("--target value needs --reads words; places in a tree do not tell the digits")
    if options.get("unlabelled") and options["encoder.kind"] == "pretrained":
        raise SettingError(
            "--unlabelled needs an encoder with a vocabulary of words, which --encoder.kind pretrained does not "
            "have; choose another kind"
        )
    if options.get("token") == "cls" and options["encoder.kind"] == "lstm":
        raise SettingError(
            "--token cls stands before all words, of which --encoder.kind lstm then reads none"
        )
    if options.get("latent.estimator") == "sample" and options["latent.count"] < 2:
        raise SettingError(
            f"--latent.count is {options['latent.count']}; --latent.estimator sample needs 2 or more"
        )
    if options.get("blocks") and options["states"] % options["blocks"]:
        raise SettingError(
            f"--blocks is {options['blocks']}; expected a divisor of --states, {options['states']}"
        )
    if options.get("text") == "stream" and options["model"].endswith("pcfg"):
        raise SettingError("--text stream needs a model that reads on; a grammar gives trees to sentences")
    if (
        options.get("output_context") is False
        and options["attention"] != "none"
        and not options["input_feeding"]
    ):
        raise SettingError(
            "--output_context is false without --input_feeding true, so that what is attended to would go nowhere"
        )
    if options.get("start") == "last" and (options["attention"], options["encoder"]) == ("none", "bilstm"):
        raise SettingError(
            "--start last gives the decoder a vector of the size of its state, and those of --encoder bilstm have "
            "twice that; give --start ends"
        )
    if "transformer" in (options.get("model"), options.get("encoder")) and options["size"] % options["heads"]:
        raise SettingError(
            f"--heads is {options['heads']}; expected a divisor of --size, {options['size']}, for a Transformer"
        )


def _require_read(config: Any, options: Mapping[str, Any]) -> None:
    """Options that would not be read must be as they are by default, or were before that changed."""
    usual = _flat(dataclasses.asdict(type(config)()))
    earlier = _flat(dataclasses.asdict(from_dict(type(config), {})))
    unread = [use for use in _USES if isinstance(config, use.tasks) and not use.is_read(config)]
    for use in unread:
        for name, value in options.items():
            if name.startswith(use.name) and value not in (usual[name], earlier[name]):
                raise SettingError(f"--{name} is {value}, and would not be read; it needs {use.needs}")


def _require_fitting_encoder(options: Mapping[str, Any]) -> None:
    kind, width, heads = options["encoder.kind"], 2 * options["encoder.hidden"], options["encoder.heads"]
    if kind == "transformer" and not options["encoder.transformer.head_size"] and width % heads:
        raise SettingError(
            f"--encoder.heads is {heads}; expected a divisor of {width}, twice --encoder.hidden, for a Transformer"
            "; or give --encoder.transformer.head_size"
        )
    if kind == "pretrained" and not options["encoder.pretrained"]:
        raise SettingError(
            "--encoder.pretrained is missing; name the folder or hub name of the pretrained model"
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
    """What is read of a word is its row in the table of scores."""
    expected = {"words": 2 * options["encoder.hidden"], "characters": "none", "affixes": 0}
    for name, value in expected.items():
        if options[f"encoder.{name}"] != value:
            raise SettingError(
                f"--encoder.{name} is {options[f'encoder.{name}']}; expected {value} for "
                "--encoder.pt.label_scores table, a score for each word and label"
            )


def _require_published(published: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """The options of a published model are its own."""
    for name, value in published.items():
        if options[f"encoder.{name}"] != value:
            raise SettingError(
                f"--encoder.{name} is {options[f'encoder.{name}']}; --encoder.pt.published true sets it to {value}"
            )
    decomposition = options["encoder.pt.decomposition"]
    if published and decomposition in ("weighted", "biased"):
        raise SettingError(
            f"--encoder.pt.decomposition {decomposition} is not published; choose full, uv or uvw"
        )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Options by their names with dots."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat
