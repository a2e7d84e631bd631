"""Options of a configuration that are read only if others have certain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strukt.errors import SettingError
from strukt.tasks import classify, dependency, listops, lm, ner, nli, tag
from strukt.tasks.config import FittingConfig, MeanFieldConfig, SpanTaskConfig, TaskConfig, from_dict
from strukt.tasks.number_config import NumberConfig


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


def _of_pt(name: str, needs: str, is_read: Callable[[MeanFieldConfig], bool]) -> _Use:
    return _Use((TaskConfig,), f"encoder.pt.{name}", needs, lambda it: is_read(it.encoder.pt))


def _any_of(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def _of_spans(name: str, *criteria: str) -> _Use:
    return _Use(
        (SpanTaskConfig,), name, f"--criterion {_any_of(criteria)}", lambda it: it.criterion in criteria
    )


def _of_texts(name: str, *models: str) -> _Use:
    return _Use((lm.Config,), name, f"--model {_any_of(models)}", lambda it: it.model in models)


def _of_tags(name: str) -> _Use:
    return _Use((tag.Config,), name, "--criterion bits", lambda it: it.criterion == "bits")


_TAGS = "--criterion flat, which tags words"
_CLASSES, _LISTS, _PAIRS = (classify.Config, nli.Config), (listops.Config,), (nli.Config,)
_NUMBERS = (NumberConfig,)
_ATTENTIVE = ("mfa", "pt", "transformer")

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
    _of_pt("symmetric_messages", "--encoder.pt.symmetric true", lambda pt: pt.symmetric),
    _of_pt(
        "tells_heads",
        "--encoder.pt.symmetric false, or --encoder.pt.symmetric_messages both",
        lambda pt: not pt.symmetric or pt.symmetric_messages == "both",
    ),
    _of_pt("rank", "a --encoder.pt.decomposition other than full", lambda pt: pt.decomposition != "full"),
    _of_pt("feature_choice", "--encoder.pt.features", lambda pt: pt.features > 0),
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
    *(_of_texts(name, "lowrank-hmm") for name in ("features", "feature_dropout")),
    *(
        _of_texts(name, "hmm", "lowrank-hmm")
        for name in ("states", "temperature", "vectors", "blocks", "state_dropout")
    ),
    _Use((lm.Config,), "clusters", "--blocks", lambda it: it.blocks > 0),
    *(_of_texts(name, *lm.GRAMMARS) for name in ("nonterminals", "preterminals", "latent")),
    _of_texts("rank", "lowrank-hmm", "lowrank-pcfg", "mfa", "pt"),
    _of_texts("iterations", "mfa", "pt"),
    _of_texts("heads", "pt", "transformer"),
    _of_texts("layers", "rnn", "lstm", "mfa", "transformer"),
    _of_texts("dropout", "rnn", "lstm", *_ATTENTIVE),
    _of_texts("order", "ngram"),
    _Use((lm.Config,), "size", "a --model other than ngram", lambda it: it.model != "ngram"),
    _Use(
        (lm.Config,),
        "context",
        f"--text stream, or --model {_any_of(_ATTENTIVE)}",
        lambda it: it.text == "stream" or it.model in _ATTENTIVE,
    ),
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
    _Use(
        (tag.Config,),
        "partial",
        "--criterion crf or cross-entropy",
        lambda it: it.criterion in ("crf", "cross-entropy"),
    ),
    _Use(
        (dependency.Config,),
        "partial",
        "--criterion tree or head, and no --unlabelled",
        lambda it: it.criterion in ("tree", "head") and not it.unlabelled,
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
    *(
        _Use(_PAIRS, name, "--model attention", lambda it: it.model == "attention")
        for name in ("attention", "scaled_scores")
    ),
    _Use(
        _PAIRS,
        "iterations",
        "--attention lp-matching or lp-sequence",
        lambda it: it.model == "attention" and it.attention in ("lp-matching", "lp-sequence"),
    ),
    *(
        _Use(_NUMBERS, name, "--attention mean-field", lambda it: it.attention == "mean-field")
        for name in ("scores", "iterations", "damping", "tol")
    ),
    *(
        _Use(_NUMBERS, name, "--attention variational", lambda it: it.attention == "variational")
        for name in ("prior", "kl_weight")
    ),
    _Use(_NUMBERS, "start", "--attention none", lambda it: it.attention == "none"),
    _Use(
        _NUMBERS,
        "rivalry",
        "--scores low-rank and --attention mean-field",
        lambda it: it.scores == "low-rank" and it.attention == "mean-field",
    ),
    _Use(_NUMBERS, "heads", "--encoder transformer", lambda it: it.encoder == "transformer"),
    *(_of_texts(name, "mfa") for name in ("scores", "damping", "tol", "input_feeding")),
    _Use(_NUMBERS, "input_feeding", "an --attention", lambda it: it.attention != "none"),
    _Use(_NUMBERS, "output_context", "an --attention", lambda it: it.attention != "none"),
)


def require_read(config: Any, options: Mapping[str, Any]) -> None:
    """Check that options that would not be read are as they are by default, or were before that changed.

    Args:
        config: The configuration of a task, a dataclass.
        options: Its options by their names with dots, as `flat` has them.

    Raises:
        SettingError: One is not; the message says what it needs to be read.
    """
    usual = flat(dataclasses.asdict(type(config)()))
    earlier = flat(dataclasses.asdict(from_dict(type(config), {})))
    unread = [use for use in _USES if isinstance(config, use.tasks) and not use.is_read(config)]
    for use in unread:
        for name, value in options.items():
            if name.startswith(use.name) and value not in (usual[name], earlier[name]):
                raise SettingError(f"--{name} is {value}, and would not be read; it needs {use.needs}")


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Name options with dots, those of parts too."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found
