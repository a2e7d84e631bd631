"""Run the rows of a table: train, evaluate, and record the results; finished rows are not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from strukt.data import corpus
from strukt.data.sentence import Sentence
from strukt.errors import StruktError
from strukt.reproduce.results import Results, Run, name_of, read
from strukt.reproduce.table import Row, Table
from strukt.train import saved_model
from strukt.train.environment import environment
from strukt.train.fit import fit
from strukt.train.records import read_metrics
from strukt.train.run_folder import RunFolder
from strukt.train.trial import machine

Configure = Callable[[str, Sequence[str]], Any]
"""A function that returns the configuration of a task, from its name and the arguments of `strukt train TASK`."""

Provide = Callable[[str], Path]
"""A function that returns the path of a file of a table, such as `cogs/train.tsv`."""

Announce = Callable[[Row, int], None]
"""A function that is called with a row and a seed before the row is run."""


@dataclass(frozen=True)
class Place:
    """The folder in which a table is run, with the results, and a model for each row and seed.

    Attributes:
        path: The path of the folder.
        table: The table to run.
        quick: True to run the quick version.
    """

    path: Path
    table: Table
    quick: bool

    @property
    def file(self) -> Path:
        """The file of the results."""
        return self.path / name_of(self.table.name, self.quick)

    def model(self, row: Row, seed: int) -> Path:
        """Return the folder of the model of a row and a seed."""
        return self.path / f"{row.name}-{seed}"

    def results(self) -> Results:
        """Return the results of earlier runs in the folder; without any, there are no runs."""
        return read(self.file) if self.file.exists() else Results(self.table.name, self.quick)


def run(
    place: Place,
    rows: Sequence[Row],
    seeds: Iterable[int],
    provide: Provide,
    configure: Configure,
    announce: Announce,
) -> Results:
    """Run the rows that are not finished, seed by seed, and write the results after each row.

    An interrupted training run resumes from its last checkpoint, with the result of an uninterrupted run.

    Args:
        place: The folder of models and results.
        rows: Rows of the table.
        seeds: The seeds of each row.
        provide: Returns the path of a file of the table.
        configure: Returns the configuration of a task from arguments, as in `strukt train`.
        announce: Called before each run.

    Returns:
        All results in the folder.

    Raises:
        StruktError: If the folder has a run of a row and seed with another command or other numbers of sentences,
            a file cannot be provided, or `fit` fails.
    """
    results = place.results()
    for seed in seeds:
        for row in rows:
            done = results.find(row, seed)
            if done is None:
                announce(row, seed)
                results = results.with_run(_run(place, row, seed, provide, configure))
                results.write(place.file)
            elif _order(done) != (row.command(seed, place.quick), dict(row.version(place.quick).first)):
                used = " and ".join(f"the first {count} {split}" for split, count in done.first.items())
                raise StruktError(
                    f"{place.file}: {row.name} with seed {seed} was run as {done.command!r} on {used or 'all'} "
                    "sentences; give another folder with -o"
                )
    return results


def _order(done: Run) -> tuple[str, Mapping[str, int]]:
    """Return the command and the numbers of sentences of a run, which must be the same in a later call."""
    return done.command, dict(done.first)


def _run(place: Place, row: Row, seed: int, provide: Provide, configure: Configure) -> Run:
    """Train the model of a row, unless it is trained already, and evaluate it on the test corpus."""
    version = row.version(place.quick)
    files = {split: str(provide(file)) for split, file in row.files.items()}
    corpora = ["--train", files["train"], "--dev", files["dev"], "--trainer.seed", str(seed)]
    config = configure(row.task, [*version.options, *corpora])
    folder = place.model(row, seed)

    def sentences(split: str) -> list[Sentence]:
        whole = corpus.read_annotated(files[split], readers=config.readers)
        return list(islice(whole, version.first.get(split)))

    metrics = _trained(row.task, config, folder, sentences("train"), sentences("dev"))
    model = saved_model.load(folder)
    here = environment()
    return Run(
        row=row.name,
        seed=seed,
        command=row.command(seed, place.quick),
        first=dict(version.first),
        test=model.measure(sentences("test")).scores,
        development=metrics["dev"],
        first_epoch=metrics["history"][0],
        minutes=metrics["minutes"],
        machine=machine(model),
        date=date.today().isoformat(),
        versions={package: str(here[package]) for package in ("strukt", "torch")},
    )


def _trained(
    task: str, config: Any, output: Path, train: Sequence[Sentence], dev: Sequence[Sentence]
) -> dict[str, Any]:
    """Start or resume a training run, or read the metrics of a finished run; return the metrics."""
    folder = RunFolder(output)
    if (folder.path / "format.json").exists() and not folder.checkpoints.exists():
        return read_metrics(output)
    return fit(task, config, output, (folder.training / "run.json").exists(), train, dev)
