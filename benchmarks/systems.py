"""Models of strukt and pipelines of spaCy on gold tokens: their accuracy, speed and size.

A system is `NAME=FOLDER`, or `NAME=FOLDER+FOLDER` for a tagger and a parser. `:MINUTES` at the end is the time of
its training; for strukt's models, it is read from their records. Systems are measured in turn, in several rounds,
each time in a new process: three passes over the corpus, after a first one in which a system may cache words, and
then sentences one by one. The fastest pass of all rounds counts, because other programs can only slow a system
down.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.prediction import seconds
from benchmarks.report import milliseconds, table

if TYPE_CHECKING:
    from strukt.data.sentence import Sentence

SINGLES = 300
"""The largest number of sentences that are annotated one by one."""

PASSES = 3
"""The number of timed passes over the corpus, after a first one."""

Columns = dict[str, list[Any]]
"""The prediction for a sentence: ``xpos``, ``arcs`` as pairs of head and relation, or ``entities`` as BIO tags."""

System = Callable[[Sequence[Any]], list[Columns]]
"""The type of systems: functions from sentences to predictions."""


@dataclass(frozen=True)
class Entry:
    """A system to measure.

    Attributes:
        name: Its name in the table.
        folders: The folders of its models; each model reads the predictions of those before it.
        minutes: The minutes of training; None if unknown.
    """

    name: str
    folders: list[str]
    minutes: float | None

    @classmethod
    def read(cls, argument: str) -> Entry:
        """Read an entry from the command line."""
        match = re.fullmatch(r"([^=]+)=(.+?)(?::([0-9.]+))?", argument)
        if match is None:
            sys.exit(f"system is {argument!r}; expected NAME=FOLDER, NAME=FOLDER+FOLDER or NAME=FOLDER:MINUTES")
        folders = match[2].split("+")
        known = [recorded_minutes(folder) for folder in folders]
        recorded = sum(known) if all(known) else None  # type: ignore[arg-type]
        return cls(match[1], folders, float(match[3]) if match[3] else recorded)


@dataclass(frozen=True)
class Measured:
    """The measurements of a system.

    Attributes:
        scores: The scores in per cent, by name.
        speed: The words per second in batches.
        latency: The median seconds for one sentence.
        memory: The peak of resident bytes.
        size: The bytes on disk.
    """

    scores: dict[str, float]
    speed: float
    latency: float
    memory: int
    size: int


def recorded_minutes(folder: str) -> float | None:
    """Return the minutes of training from the records of a model of strukt; None if there are none."""
    path = Path(folder) / "metrics.json"
    return json.loads(path.read_text(encoding="utf-8")).get("minutes") if path.exists() else None


def fastest(rounds: Sequence[Measured]) -> Measured:
    """Return the measurements with the highest speed, lowest latency and lowest memory of several rounds."""
    return replace(
        rounds[0],
        speed=max(each.speed for each in rounds),
        latency=min(each.latency for each in rounds),
        memory=min(each.memory for each in rounds),
    )


def measured(folders: Sequence[str], file: str, threads: int) -> Measured:
    """Measure one system; call this in a new process, because it measures the memory of the whole process."""
    import torch

    from strukt.data import corpus

    torch.set_num_threads(threads)
    gold = list(corpus.read(file))
    sentences = [unannotated(sentence) for sentence in gold]
    system = opened(folders)
    predicted = system(sentences)
    words = sum(map(len, sentences))
    speed = words / min(seconds(lambda: system(sentences)) for _ in range(PASSES))
    step = max(1, len(sentences) // SINGLES)
    singles = [seconds(lambda one=one: system([one])) for one in sentences[::step][:SINGLES]]  # type: ignore[misc]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    return Measured(scores(gold, predicted), speed, median(singles), memory, sum(map(size_of, folders)))


def unannotated(sentence: Sentence) -> Sentence:
    """Return a sentence with the same words, without the gold annotation."""
    from strukt.data import conllu

    if isinstance(sentence, conllu.Sentence):
        return conllu.from_forms(sentence.forms)
    return sentence.annotated(tag=["O"] * len(sentence))


def opened(folders: Sequence[str]) -> System:
    """Load a pipeline of spaCy, or else a system of models of strukt."""
    if (Path(folders[0]) / "config.cfg").exists():
        return of_spacy(folders[0])
    return of_strukt(folders)


def of_strukt(folders: Sequence[str]) -> System:
    """Load saved or exported models of strukt; the system applies one after another."""
    import strukt

    models = [strukt.load(folder) for folder in folders]

    def predict(sentences: Sequence[Sentence]) -> list[Columns]:
        for model in models:
            sentences = list(model.predict(sentences))
        return [columns_of(sentence) for sentence in sentences]

    return predict


def of_spacy(folder: str) -> System:
    """Load a trained pipeline of spaCy; the system uses it without its tokenizer."""
    import spacy
    from spacy.tokens import Doc

    pipeline = spacy.load(folder)

    def predict(sentences: Sequence[Sentence]) -> list[Columns]:
        documents = (Doc(pipeline.vocab, words=list(sentence.forms)) for sentence in sentences)
        return [_columns_of_document(document) for document in pipeline.pipe(documents)]

    return predict


def columns_of(sentence: Sentence) -> Columns:
    """Return the annotation of a sentence, from CoNLL-U or from words with tags of entities."""
    from strukt.data import conllu

    if isinstance(sentence, conllu.Sentence):
        return {"xpos": list(sentence.column("xpos")), "arcs": list(sentence.arcs)}
    return {"entities": list(sentence.column("tag"))}


def _columns_of_document(document: Any) -> Columns:
    """Return the annotation of a document of spaCy."""
    heads = [0 if token.head == token else token.head.i + 1 for token in document]
    relations = [token.dep_.lower() for token in document]
    marks = [token.ent_iob_ if token.ent_iob_ else "O" for token in document]
    kinds = [token.ent_type_ for token in document]
    return {
        "xpos": [token.tag_ for token in document],
        "arcs": list(zip(heads, relations, strict=True)),
        "entities": [mark if mark == "O" else f"{mark}-{kind}" for mark, kind in zip(marks, kinds, strict=True)],
    }


def scores(gold: Sequence[Sentence], predicted: Sequence[Columns]) -> dict[str, float]:
    """Return XPOS, UAS and LAS, or F1 for entities, in per cent; XPOS is NaN if no word has a predicted tag."""
    from strukt.metrics import Accuracy, AttachmentScore, SpanF1

    metrics: dict[str, Any] = {"xpos": Accuracy(), "arcs": AttachmentScore(), "entities": SpanF1()}
    for sentence, columns in zip(gold, predicted, strict=True):
        for name, right in columns_of(sentence).items():
            metrics[name].update(gold=right, predicted=columns[name])
    if "entities" in columns_of(gold[0]):
        return {"F1": metrics["entities"].result()["f1"]}
    attachment = metrics["arcs"].result()
    is_tagged = any(tag != "_" for each in predicted for tag in each["xpos"])
    accuracy = metrics["xpos"].result()["accuracy"] if is_tagged else math.nan
    return {"XPOS": accuracy, "UAS": attachment["UAS"], "LAS": attachment["LAS"]}


def size_of(folder: str) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def rows(systems: Sequence[Entry], found: dict[str, list[Measured]]) -> Iterator[list[str]]:
    """Yield a row for each system: the speed with each number of threads; all else with the first number."""
    for entry in systems:
        each = found[entry.name]
        speeds = [cell for one in each for cell in (f"{one.speed:,.0f}", milliseconds(one.latency))]
        megabytes = [f"{number / 1e6:,.0f}" for number in (each[0].memory, each[0].size)]
        minutes = "" if entry.minutes is None else f"{entry.minutes:.0f}"
        yield [entry.name, *speeds, *megabytes, minutes, *map(_cell, each[0].scores.values())]


def _cell(score: float) -> str:
    return "–" if math.isnan(score) else f"{score:.2f}"


def header(threads: Sequence[int], scores: Sequence[str]) -> list[str]:
    """Return the header for `rows`; the page's heading has the first number of threads, so columns omit it."""
    marks = ["", *(f", {count} threads" for count in threads[1:])]
    speeds = [each for mark in marks for each in (f"words per second{mark}", f"one sentence{mark}, ms")]
    return ["system", *speeds, "memory, MB", "size, MB", "training, minutes", *(f"{name}, %" for name in scores)]


def measure_all(
    systems: Sequence[Entry], file: str, threads: Sequence[int], rounds: int
) -> dict[str, list[Measured]]:
    """Measure systems in turn, with each number of threads, each time in a new process."""
    places = [(entry.name, count) for entry in systems for count in threads]
    found: dict[tuple[str, int], list[Measured]] = {place: [] for place in places}
    for _ in range(rounds):
        for entry in systems:
            for count in threads:
                os.environ["OMP_NUM_THREADS"] = str(count)  # read when a process starts
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                    one = process.submit(measured, entry.folders, file, count).result()
                found[entry.name, count].append(one)
    return {entry.name: [fastest(found[entry.name, count]) for count in threads] for entry in systems}


def section_of(file: str) -> str:
    """Return the name of the page's section for a corpus: of trees (CoNLL-U), or of entities."""
    from strukt.data import conllu, corpus

    return "systems-trees" if isinstance(next(corpus.read(file)), conllu.Sentence) else "systems-entities"


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.systems", description=__doc__)
    parser.add_argument("file", metavar="FILE", help="test corpus: CoNLL-U, or words with tags of entities")
    parser.add_argument("systems", metavar="NAME=FOLDER[+FOLDER][:MINUTES]", nargs="+", help="systems to measure")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="numbers of threads to measure with")
    parser.add_argument("--rounds", type=int, default=3, help="times that each system is measured (3)")
    parser.add_argument("--output", help="page whose section 'systems-trees', or 'systems-entities', is replaced")
    arguments = parser.parse_args()
    systems = [Entry.read(argument) for argument in arguments.systems]

    from strukt.errors import StruktError

    try:
        section = section_of(arguments.file)
        require_section(section, arguments.output)
        heading = machine(arguments.threads[0])
        found = measure_all(systems, arguments.file, arguments.threads, arguments.rounds)
        names = header(arguments.threads, list(next(iter(found.values()))[0].scores))
        publish(f"{heading}\n\n{table(names, rows(systems, found))}", section, arguments.output)
    except (StruktError, PageError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
