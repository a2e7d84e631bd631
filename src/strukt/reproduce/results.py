"""Results of a table, saved as JSON: each run with its scores, command, date, machine and versions."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev

from strukt.data.files import atomic_write
from strukt.errors import DataError
from strukt.reproduce.table import Row

FOLDER = Path(__file__).parent / "recorded"
"""The folder of the recorded results that are part of the package."""


@dataclass(frozen=True)
class Run:
    """A training run of a row with one seed, and its scores.

    Attributes:
        row: The name of the row.
        seed: The seed of the training run.
        command: The command line of the training run.
        first: The number of sentences used, by split; a split that is not listed was used in full.
        test: The scores on the test corpus, by name.
        development: The scores on the development corpus after the best epoch.
        first_epoch: The scores on the development corpus after the first epoch.
        minutes: The training time in minutes; None if it was not recorded.
        machine: The processor and the number of threads, or the GPU; empty if it was not recorded.
        date: The day, as YYYY-MM-DD; empty if it was not recorded.
        versions: The versions of packages.
        note: Remarks; may be empty.
    """

    row: str
    seed: int
    command: str
    first: Mapping[str, int] = field(default_factory=dict)
    test: Mapping[str, float] = field(default_factory=dict)
    development: Mapping[str, float] = field(default_factory=dict)
    first_epoch: Mapping[str, float] = field(default_factory=dict)
    minutes: float | None = None
    machine: str = ""
    date: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Results:
    """The runs of a table.

    Attributes:
        table: The name of the table.
        quick: True for runs of the quick version.
        runs: All runs, in chronological order.
    """

    table: str
    quick: bool
    runs: tuple[Run, ...] = ()

    def of(self, row: Row) -> list[Run]:
        """Return the runs of a row, in chronological order."""
        return [run for run in self.runs if run.row == row.name]

    def find(self, row: Row, seed: int) -> Run | None:
        """Return the run of a row with a seed, or None."""
        return next((run for run in self.of(row) if run.seed == seed), None)

    def with_run(self, run: Run) -> Results:
        """Return a copy of the results with another run at the end."""
        return dataclasses.replace(self, runs=(*self.runs, run))

    def write(self, path: Path) -> None:
        """Write the results to a JSON file, atomically."""
        with atomic_write(path) as stream:
            json.dump(dataclasses.asdict(self), stream, indent=1, ensure_ascii=False)
            stream.write("\n")


def read(path: Path) -> Results:
    """Read a file of results.

    Args:
        path: The file that `Results.write` wrote.

    Raises:
        DataError: If the file cannot be read, or holds no results.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        runs = tuple(Run(**run) for run in content["runs"])
        return Results(str(content["table"]), bool(content["quick"]), runs)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError("holds no results of strukt reproduce; move it away", path) from error


def recorded(table: str, quick: bool) -> Results:
    """Return the recorded results of a table, which are part of the package; without a record, there are no runs.

    Args:
        table: The name of the table.
        quick: True for the results of the quick version.

    Examples:
        >>> all(run.test for run in recorded("cogs", quick=False).runs)
        True
    """
    path = FOLDER / name_of(table, quick)
    return read(path) if os.path.exists(path) else Results(table, quick)


def name_of(table: str, quick: bool) -> str:
    """Return the name of the file with the results of a table."""
    return f"{table}-quick.json" if quick else f"{table}.json"


def summary(values: Iterable[float]) -> str:
    """Format a single value, or the mean and the standard deviation of several values; a dash without values.

    Args:
        values: Scores of the same row with different seeds.

    Examples:
        >>> summary([81.2]), summary([1.0, 2.0, 3.0]), summary([0.0004]), summary([])
        ('81.2', '2 ± 1', '0.0004', '–')
    """
    known = list(values)
    if not known:
        return "–"
    return spread(mean(known), stdev(known) if len(known) > 1 else None)


def spread(centre: float, deviation: float | None) -> str:
    """Format a mean with four significant digits, from 1,000 as an integer; and its deviation, if known, with two.

    Examples:
        >>> spread(84.6, 2.06), spread(11996.2, None)
        ('84.6 ± 2.1', '11,996')
    """
    shown = f"{centre:,.0f}" if abs(centre) >= 1000 else f"{centre:.4g}"
    return shown if deviation is None else f"{shown} ± {deviation:.2g}"
