"""The model card: task, training data, scores, speed and licence of a model.

It is the README.md of the model's folder, in the format of the Hugging Face Hub: metadata in YAML, then the text.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from strukt.data import corpus
from strukt.data.corpora.obtain import RECORD
from strukt.errors import MissingExtraError
from strukt.metrics.bootstrap import RESAMPLES
from strukt.tasks import TASKS
from strukt.tasks.common.model import Model
from strukt.tasks.common.options import flat
from strukt.train.records import scores
from strukt.train.storage import read_json
from strukt.train.trial import Trial

try:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData
except ImportError as error:
    raise MissingExtraError("huggingface_hub", "hub") from error

PIPELINES: Mapping[str, str] = {
    "tag": "token-classification",
    "dependency": "token-classification",
    "constituency": "token-classification",
    "ner": "token-classification",
    "classify": "text-classification",
    "nli": "text-classification",
    "lm": "text-generation",
    "mlm": "fill-mask",
}
"""The hub's name (`pipeline_tag`) for each task that the hub knows."""

PLAIN_TEXT: Mapping[str, str] = {
    "nli": "one pair of sentences per line, with a TAB between premise and hypothesis",
    "listops": "one expression per line, with spaces between its symbols",
}
"""The format of plain text for tasks that do not read one sentence per line."""

@dataclass(frozen=True)
class Facts:
    """Facts for the card of a model, such as its licence, that the saved model does not record.

    Attributes:
        licence: Licence of the model: an identifier of the hub, such as `cc-by-sa-4.0`; None if not stated.
        data: Names of the training data; by default, the name and version in the record that `strukt data get`
            left in the folder of the corpus.
        data_licence: Licence of the training data; by default, the one in that record.
        language: Codes of the languages, such as `en`; empty if not stated.
        trial: Scores and speed on test data; None if they were not measured.

    Examples:
        >>> from strukt.train.model_card import model_card
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> facts, tagger = Facts(licence="mit", language=["en"]), Tagger.from_corpus(Config(), [sentence])
        >>> model_card(tagger, {}, {}, facts, "tagger").data.to_dict()["license"]
        'mit'
    """

    licence: str | None = None
    data: Sequence[str] = ()
    data_licence: str | None = None
    language: Sequence[str] = ()
    trial: Trial | None = None


def model_card(
    model: Model, metrics: Mapping[str, Any], environment: Mapping[str, Any], facts: Facts, name: str
) -> ModelCard:
    """Return the card of a model.

    Args:
        model: The model, with its configuration and weights.
        metrics: Its scores, as in metrics.json.
        environment: Versions and machine of its training run, as in environment.json.
        facts: Facts that the saved model does not record.
        name: The title of the card.

    Raises:
        DataError: If a file of the training or development data still exists, but cannot be read.
    """
    source = _source(model.config.train)
    data = list(facts.data) or ([f"{source['name']} {source['version']}"] if source else [])
    licence = facts.data_licence or (source["licence"] if source else None)
    sections = [
        f"# {name}",
        _task(model),
        _use(model),
        _training_data(model, data, licence),
        _quality(metrics, facts.trial),
        _speed(model, facts.trial),
        _training(model, environment),
        _licence(facts.licence, licence),
    ]
    metadata = _metadata(model, facts, data, name)
    return ModelCard("\n\n".join([f"---\n{metadata.to_yaml()}\n---", *sections]) + "\n")


def _metadata(model: Model, facts: Facts, data: Sequence[str], name: str) -> ModelCardData:
    pipeline = PIPELINES.get(model.task)
    results = [] if facts.trial is None else _results(facts.trial, pipeline or model.task)
    return ModelCardData(
        license=None if facts.licence is None else _identifier(facts.licence).lower(),
        language=list(facts.language) or None,
        library_name="strukt",
        pipeline_tag=pipeline,
        tags=["strukt", "structured-prediction", model.task],
        datasets=[_identifier(each) for each in data] or None,
        metrics=sorted({result.metric_type for result in results}) or None,
        model_name=name if results else None,
        eval_results=results or None,
    )


def _results(trial: Trial, task: str) -> list[EvalResult]:
    return [
        EvalResult(
            task_type=task,
            dataset_type=_identifier(trial.name),
            dataset_name=trial.name,
            metric_type=_identifier(score).lower(),
            metric_name=score,
            metric_value=round(value, 2),
        )
        for score, value in trial.scores.items()
    ]


def _task(model: Model) -> str:
    summary = TASKS[model.task].config_class().summary
    encoder = getattr(model.config, "encoder", None)
    reads = f", with an encoder of kind `{getattr(encoder, 'kind', encoder)}`" if encoder else ""
    return f"A model of the task `{model.task}` of strukt ({summary}){reads}."


def _use(model: Model) -> str:
    plain = PLAIN_TEXT.get(model.task, "one sentence per line, with spaces between words and punctuation marks")
    return f"""\
## How to use it

`MODEL` is the folder of this model, or `hf://user/name` on the hub; for the latter, strukt needs its extra `hub`.

```console
$ strukt predict MODEL raw.txt
$ strukt evaluate MODEL FILE
```

```python
import strukt
from strukt.data import corpus

model = strukt.load("MODEL")
for sentence in model.predict(corpus.read("raw.txt", readers=model.readers())):
    print(sentence)
```

Plain text has {plain}."""


def _training_data(model: Model, data: Sequence[str], licence: str | None) -> str:
    rows = [("split", "file", "sentences", "words")]
    for split in ("train", "dev"):
        path = getattr(model.config, split)
        rows.append((split, f"`{Path(path).name}`", *_counts(path, model.readers())))
    names = f"{', '.join(data)}. " if data else ""
    return f"## Training data\n\n{names}Licence of the data: {licence or 'not stated'}.\n\n{_table(rows)}"


def _quality(metrics: Mapping[str, Any], trial: Trial | None) -> str:
    parts = ["## How good it is"]
    if trial is None:
        parts.append("It was not measured on test data.")
    else:
        rows = [("metric", "score", "95 % interval")]
        for name, value in trial.scores.items():
            ends = trial.intervals.get(name)
            rows.append((name, f"{value:.2f}", f"{ends[0]:.2f} to {ends[1]:.2f}" if ends else "not known"))
        parts.append(f"On {trial.name}, {trial.sentences:,} sentences, {trial.words:,} words:")
        parts.append(_table(rows))
        if trial.intervals:
            parts.append(
                f"The intervals are from the percentile bootstrap, with {RESAMPLES} resamples of sentences: they "
                "reflect the random choice of the sentences, but not the randomness of training."
            )
    reached = scores(metrics.get("dev", {}))
    if reached:
        listed = ", ".join(f"{name} {value:.2f}" for name, value in reached.items())
        chose = ", which chose the best epoch" if "epoch" in metrics["dev"] else ""
        parts.append(f"On the development data{chose}: {listed}.")
    return "\n\n".join(parts)


def _speed(model: Model, trial: Trial | None) -> str:
    learned = (weight for weight in model.state_dict().values() if weight.dtype != torch.bool)
    weights = sum(weight.numel() for weight in learned)  # Booleans are constraints that follow from the tags
    size = sum(weight.numel() * weight.element_size() for weight in model.state_dict().values()) / 1e6
    parts = ["## Speed and size"]
    if trial is not None:
        sentences, words = (_rounded(count / trial.seconds) for count in (trial.sentences, trial.words))
        parts.append(
            f"{sentences} sentences, {words} words per second on {trial.machine}, in batches of up to "
            f"{model.config.trainer.tokens:,} {model.unit}, padding included."
        )
    parts.append(f"{weights:,} weights, {size:.1f} MB.")
    return "\n\n".join(parts)


def _training(model: Model, environment: Mapping[str, Any]) -> str:
    rows = [("", ""), *((name, str(value)) for name, value in environment.items())]
    return f"""\
## How it was trained

Seed {model.config.trainer.seed}; with

```console
$ {command(model)}
```

{_table(rows)}"""


def _licence(licence: str | None, of_data: str | None) -> str:
    statement = licence or "not stated; ask the authors before you use the model"
    also = f" Licence of the training data: {of_data}." if of_data else ""
    return f"## Licence\n\n{statement}.{also}"


def command(model: Model) -> str:
    """Return the command that trains such a model, with all options that differ from the defaults.

    Corpus files are named without their folders, which are private.

    Args:
        model: A trained model.

    Examples:
        >>> from types import SimpleNamespace
        >>> from strukt.tasks.tag import Config
        >>> config = Config(train="my corpora/en-train.conllu", criterion="crf")
        >>> config.encoder.layers = 3
        >>> command(SimpleNamespace(task="tag", config=config))
        'strukt train tag --train en-train.conllu --encoder.layers 3 --criterion crf'
    """
    chosen, usual = (flat(dataclasses.asdict(each)) for each in (model.config, type(model.config)()))
    changed = {name: value for name, value in chosen.items() if value != usual[name]}
    words = ["strukt", "train", model.task]
    for name, value in changed.items():
        text = value if isinstance(value, str) else json.dumps(value)
        words += [f"--{name}", Path(text).name if name in ("train", "dev") else text]
    return shlex.join(words)


def _source(path: str) -> dict[str, Any] | None:
    """Return the record that `strukt data get` left in the folder of a corpus file, or None."""
    record = Path(path).parent / RECORD
    return read_json(record) if path and record.exists() else None


def _counts(path: str, readers: corpus.Readers) -> tuple[str, str]:
    """Return the numbers of sentences and words of a corpus as text; "not known" if the file no longer exists."""
    if not path or not Path(path).exists():
        return "not known", "not known"
    lengths = [len(sentence) for sentence in corpus.read(path, readers=readers)]
    return f"{len(lengths):,}", f"{sum(lengths):,}"


def _identifier(name: str) -> str:
    """Return a name as an identifier of the hub.

    Examples:
        >>> _identifier("UD English EWT 2.17, train")
        'UD-English-EWT-2.17-train'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.")


def _rounded(value: float) -> str:
    """Round to three significant digits; a measurement of speed is no more precise."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 10 else f"{value:.1f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *others])
