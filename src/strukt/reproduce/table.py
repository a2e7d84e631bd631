"""Published tables: for each row the model, the corpora and the published number."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

FOLDER = Path(__file__).parent / "tables"
"""The folder of the tables that are part of the package."""


@dataclass(frozen=True)
class Published:
    """A published number.

    Attributes:
        mean: The number, or the mean over several seeds.
        deviation: The standard deviation over seeds; None if it was not published.
        corpus: The name of the corpus, if it is not that of the row; empty otherwise.
    """

    mean: float
    deviation: float | None = None
    corpus: str = ""


@dataclass(frozen=True)
class Version:
    """A version of a row: the settings of the full run, or of the quick run, which takes minutes.

    Attributes:
        options: The arguments after `strukt train TASK`, without corpora, seed or folder.
        first: The number of sentences to use, by split; a split that is not listed is used in full.
        minutes: The expected minutes for one seed on one core; None if unknown.
    """

    options: tuple[str, ...]
    first: Mapping[str, int]
    minutes: float | None


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        name: The name of the row in `--rows`.
        title: The first cell of the row.
        task: The task of `strukt train`.
        files: The files for `train`, `dev` and `test`, each as the folder of a corpus and a file in it.
        metric: The name of the score to compare, among those of `strukt evaluate`.
        full: The version that is compared with the published number.
        quick: The version that takes minutes.
        paper: The published number; None if there is none.
        trials: The number of settings that were tried, including these; None if unknown.
        note: Remarks.
    """

    name: str
    title: str
    task: str
    files: Mapping[str, str]
    metric: str
    full: Version
    quick: Version
    paper: Published | None
    trials: int | None
    note: str

    def version(self, quick: bool) -> Version:
        """Return the quick version or the full one."""
        return self.quick if quick else self.full

    def command(self, seed: int, quick: bool) -> str:
        """Return the command that trains this row, without the folder of the model.

        Examples:
            >>> load("cogs").row("pt").command(1, quick=False).partition(" --train ")[0]
            'strukt train cogs --config published/cogs --trainer.threads 1'
        """
        corpora = [part for split in ("train", "dev") for part in (f"--{split}", self.files[split])]
        seeded = ["--trainer.seed", str(seed)]
        return shlex.join(["strukt", "train", self.task, *self.version(quick).options, *corpora, *seeded])


@dataclass(frozen=True)
class Table:
    """A published table.

    Attributes:
        name: The name of the table in `strukt reproduce`.
        title: The models and the data that are compared.
        source: The publication, and the number of the table in it.
        measure: The measure in words, and whether higher is better.
        note: Remarks on all rows.
        rows: The rows, in the order of the table.
        made: For each generated file of random numbers, the arguments of
            `strukt.data.corpora.synthetic.sequences`.
        extracts: For each file that is extracted from another file, the name of the other file, and the name of
            the extract.
    """

    name: str
    title: str
    source: str
    measure: str
    note: str
    rows: tuple[Row, ...]
    made: Mapping[str, Mapping[str, int]] = field(repr=False)
    extracts: Mapping[str, tuple[str, str]] = field(repr=False)

    def row(self, name: str) -> Row:
        """Return the row with this name.

        Raises:
            KeyError: If there is no such row.
        """
        return {row.name: row for row in self.rows}[name]

    @property
    def names(self) -> list[str]:
        """The names of the rows."""
        return [row.name for row in self.rows]

    @property
    def about(self) -> str:
        """The source, the measure and the note, as one text."""
        return f"{self.source}; {self.measure}. {self.note}".rstrip()


def names() -> tuple[str, ...]:
    """Return the names of all tables, in alphabetical order.

    Examples:
        >>> "cogs" in names()
        True
    """
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def load(name: str) -> Table:
    """Load a table that is part of the package.

    Args:
        name: The name of the table, one of `names()`.
    """
    return parse(name, json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def parse(name: str, content: Mapping[str, Any]) -> Table:
    """Return the table that a JSON file describes.

    The values of `task`, `metric`, `files`, `options`, `first`, `minutes`, `trials` and `quick` may be given for
    the whole table, and replaced by a row; in `files`, `options` and `quick`, a row replaces single entries.

    Args:
        name: The name of the table.
        content: The JSON object in the file.

    Raises:
        KeyError: If `title`, `source`, `measure` or `rows` is missing, or `name` or `title` of a row.
    """
    return Table(
        name=name,
        title=content["title"],
        source=content["source"],
        measure=content["measure"],
        note=content.get("note", ""),
        rows=tuple(_row(content, values) for values in content["rows"]),
        made=MappingProxyType(content.get("made", {})),
        extracts=MappingProxyType(
            {file: (origin, kind) for file, (origin, kind) in content.get("extracts", {}).items()}
        ),
    )


def _row(table: Mapping[str, Any], row: Mapping[str, Any]) -> Row:
    """Return a row, with the values of the whole table where its own are missing; see `parse`."""

    def inherited(name: str, default: Any = None) -> Any:
        return row.get(name, table.get(name, default))

    options = _options(table) | _options(row)
    quick = table.get("quick", {}) | row.get("quick", {})
    shorter = options | _options(table.get("quick", {})) | _options(row.get("quick", {}))
    first = inherited("first", {})
    return Row(
        name=row["name"],
        title=row["title"],
        task=inherited("task"),
        files=MappingProxyType(table.get("files", {}) | row.get("files", {})),
        metric=inherited("metric"),
        full=Version(_arguments(options), MappingProxyType(first), inherited("minutes")),
        quick=Version(
            _arguments(shorter), MappingProxyType(first | quick.get("first", {})), quick.get("minutes")
        ),
        paper=Published(**row["paper"]) if "paper" in row else None,
        trials=inherited("trials"),
        note=row.get("note", ""),
    )


def _options(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a table, a row or a quick version by name; each of them has a value."""
    words = shlex.split(values.get("options", ""))
    return dict(zip(words[::2], words[1::2], strict=True))


def _arguments(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return options as arguments, with `--config` first, because its file replaces options before it."""
    ordered = sorted(options, key=lambda name: name != "--config")
    return tuple(part for name in ordered for part in (name, options[name]))
