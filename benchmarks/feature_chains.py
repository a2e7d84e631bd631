"""Training on sequences of dictionaries beside sklearn-crfsuite: equal features, penalties and stopping rule.

The option `--data` names a folder with the corpora WNUT-17 and SNIPS, as published, compressed with gzip.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch

from benchmarks.page import machine, publish, require_section
from benchmarks.report import table
from strukt.metrics.span_f1 import SpanF1
from strukt.sklearn import ChainClassifier

Sentence = list[tuple[str, str]]
PENALTIES = ((0.0, 1.0), (0.1, 0.1))
"""The weights c1 and c2 of the L1 norm and of the squared L2 norm."""

ROUNDS = 2


class Corpus(NamedTuple):
    """Sentences of words and tags, for training and for testing."""

    name: str
    train: list[Sentence]
    test: list[Sentence]


def wnut(folder: Path) -> Corpus:
    """Read WNUT-17, without its development corpus."""
    files = ("wnut17train.conll.gz", "emerging.test.annotated.gz")
    return Corpus("WNUT-17", *(list(_columns(folder / "wnut17" / file)) for file in files))


def snips(folder: Path, every: int) -> Corpus:
    """Read SNIPS, all intents, with one in ``every`` utterances of the training corpora."""
    train, test = (list(_slots(folder / "snips", kind)) for kind in ("train", "validate"))
    return Corpus(f"SNIPS, 1 utterance in {every}", train[::every], test)


def _columns(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a file with a word and a tag in each line."""
    sentence: Sentence = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in [*lines, ""]:
            word, _, tag = line.strip().partition("\t")
            if tag:
                sentence.append((word, tag.strip()))
            elif sentence:
                yield sentence
                sentence = []


def _slots(folder: Path, kind: str) -> Iterator[Sentence]:
    """Yield the utterances of all intents, as words with BIO tags of slots; `kind` is "train" or "validate"."""
    for path in sorted(folder.glob(f"*/{kind}*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            (utterances,) = json.load(file).values()
        for utterance in utterances:
            sentence = [
                (word, f"{'I' if number else 'B'}-{part['entity']}" if "entity" in part else "O")
                for part in utterance["data"]
                for number, word in enumerate(part["text"].split())
            ]
            if sentence:
                yield sentence


def features(sentence: Sentence, i: int) -> dict[str, Any]:
    """Return the features of sklearn-crfsuite's tutorial, without parts of speech, which these corpora lack."""
    word = sentence[i][0]
    found: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    for name, j, end in (("-1", i - 1, "BOS"), ("+1", i + 1, "EOS")):
        if 0 <= j < len(sentence):
            near = sentence[j][0]
            found |= {
                f"{name}:word.lower()": near.lower(),
                f"{name}:word.istitle()": near.istitle(),
                f"{name}:word.isupper()": near.isupper(),
            }
        else:
            found[end] = True
    return found


def inputs(sentences: list[Sentence]) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    """Return the features and the tags of sentences."""
    xs = [[features(sentence, i) for i in range(len(sentence))] for sentence in sentences]
    return xs, [[tag for _, tag in sentence] for sentence in sentences]


def crfsuite(c1: float, c2: float) -> Any:
    """Return the estimator of sklearn-crfsuite with these penalties."""
    from sklearn_crfsuite import CRF

    return CRF(algorithm="lbfgs", c1=c1, c2=c2)


def reached(model: Any) -> tuple[float, int]:
    """Return the final objective of a trained model, and the number of iterations."""
    if isinstance(model, ChainClassifier):
        return model.loss_, model.n_iter_
    iterations = model.training_log_.iterations
    return iterations[-1]["loss"], len(iterations)


class Result(NamedTuple):
    """The result of one library on one corpus with one penalty: CPU seconds, objective, iterations and span F1."""

    train: float
    predict: float
    loss: float
    iterations: int
    f1: float


def measure(make: Callable[[], Any], train: Any, test: Any) -> Result:
    """Fit and predict; return the CPU seconds of both, and the results."""
    begin = time.process_time()
    model = make().fit(*train)
    middle = time.process_time()
    predicted = model.predict(test[0])
    end = time.process_time()
    score = SpanF1()
    for gold, tags in zip(test[1], predicted, strict=True):
        score.update(gold, list(tags))
    return Result(middle - begin, end - middle, *reached(model), score.result()["f1"])


def rows(corpus: Corpus) -> Iterator[list[str]]:
    """Yield a row for each penalty and library; the libraries take turns."""
    train, test = inputs(corpus.train), inputs(corpus.test)
    ChainClassifier(max_iterations=1).fit(train[0][:50], train[1][:50]).predict(test[0][:50])  # compiles
    for c1, c2 in PENALTIES:
        makers: dict[str, Callable[[], Any]] = {
            "strukt": lambda c1=c1, c2=c2: ChainClassifier(c1=c1, c2=c2),
            "sklearn-crfsuite": lambda c1=c1, c2=c2: crfsuite(c1, c2),
        }
        results: dict[str, list[Result]] = {name: [] for name in makers}
        for _ in range(ROUNDS):
            for name, make in makers.items():
                results[name].append(measure(make, train, test))
                print(corpus.name, c1, c2, name, results[name][-1], file=sys.stderr, flush=True)
        fit = {name: median(one.train for one in each) for name, each in results.items()}
        for name, each in results.items():
            last = each[-1]
            seconds = [f"{fit[name]:.1f}", f"{median(one.predict for one in each):.2f}"]
            faster = f"{fit['sklearn-crfsuite'] / fit[name]:.1f} x"
            quality = [f"{last.loss:,.1f}", str(last.iterations), f"{last.f1:.2f}"]
            case = [corpus.name, f"{c1:g}, {c2:g}"] if name == "strukt" else ["", ""]
            yield [*case, name, *seconds, faster, *quality]


def report(corpora: list[Corpus]) -> str:
    """Return one table for all corpora."""
    header = [
        "corpus", "c1, c2", "library", "training, s", "prediction, s", "speed-up of training", "objective",
        "iterations", "span F1, %",
    ]  # fmt: skip
    return table(header, (row for corpus in corpora for row in rows(corpus)))


def main() -> None:
    """Parse the command line, measure with one thread, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.feature_chains", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with `wnut17` and `snips`")
    parser.add_argument("--every", type=int, default=8, help="train on one in this many utterances of SNIPS (8)")
    parser.add_argument("--output", help="page whose section 'feature-chains' is replaced")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    require_section("feature-chains", arguments.output)
    where = machine(1)
    corpora = [wnut(arguments.data), snips(arguments.data, arguments.every)]
    publish(f"{where}\n\n{report(corpora)}", "feature-chains", arguments.output)


if __name__ == "__main__":
    main()
