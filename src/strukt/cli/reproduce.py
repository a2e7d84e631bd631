"""`strukt reproduce`: train the models of published tables, and compare the scores."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strukt.cli import console
from strukt.cli.data import wait, watch
from strukt.cli.options import Parser
from strukt.cli.table import table as aligned
from strukt.cli.termination import Terminated
from strukt.cli.train import interruptible
from strukt.errors import MissingExtraError
from strukt.reproduce import table as tables
from strukt.reproduce.report import comparison, expected_minutes, minutes, overview
from strukt.reproduce.results import recorded

if TYPE_CHECKING:
    from strukt.reproduce.results import Results
    from strukt.reproduce.table import Row, Table

DEFAULT_DATA, DEFAULT_OUTPUT = "corpora", "reproduced"
"""Default folders for corpora, and for the models and results of tables."""


def run(arguments: list[str]) -> int:
    """List the tables, or run one and print it.

    Raises:
        UsageError: If an option is invalid, or there is no such table or row.
        StruktError: If `strukt.reproduce.run.run` raises it.
    """
    parser = _parser()
    options = parser.parse(arguments)
    if options.table is None:
        for name, value in vars(options).items():
            if value != parser.get_default(name):
                raise console.UsageError(f"--{name} needs a table; give its name first")
        print(aligned(overview(map(tables.load, tables.names()))))
        return 0
    table = tables.load(console.choose(options.table, tables.names(), "table"))
    rows = [table.row(console.choose(name, table.names, "row")) for name in options.rows or table.names]
    if options.commands:
        print("\n".join(_command(row, seed, options.quick) for seed in options.seeds for row in rows))
        return 0
    results = _reproduced(table, rows, options)
    console.message(table.about)
    print(aligned(comparison(table, rows, results)))
    return 0


def _command(row: Row, seed: int, quick: bool) -> str:
    """Return the command that trains a row; if only the first sentences are read, a comment says how many."""
    command, first = row.command(seed, quick), row.version(quick).first
    numbers = ", ".join(f"{split} {count:,}" for split, count in first.items())
    return f"{command}  # only the first sentences of files: {numbers}" if first else command


def _reproduced(table: Table, rows: Sequence[Row], options: Namespace) -> Results:
    """Train and evaluate the models of rows, and return all results of the table so far."""
    try:
        from strukt.cli.configuration import parse
        from strukt.reproduce.run import Place, run
    except ImportError as error:
        raise MissingExtraError(str(error.name), "train") from error
    from strukt.reproduce.corpora import provide

    def configure(task: str, arguments: Sequence[str]) -> Any:
        return parse(task, arguments).config

    def announce(row: Row, seed: int) -> None:
        expected = minutes(expected_minutes(row, known))
        command = _command(row, seed, options.quick)
        console.message(f"{row.title}, seed {seed} (expected minutes: {expected}): {command}")

    known = recorded(table.name, options.quick)
    name = f"{table.name}-quick" if options.quick else table.name
    place = Place(Path(options.output or f"{DEFAULT_OUTPUT}/{name}"), table, options.quick)
    find = partial(provide, table, folder=Path(options.data), wait=wait, watch=watch)
    try:
        with interruptible():
            results = run(place, rows, options.seeds, find, configure, announce)
    except (KeyboardInterrupt, Terminated):
        console.message("finished rows are kept; run the same command to continue")
        raise
    console.message(f"results are in {place.file}")
    return results


def _parser() -> Parser:
    parser = Parser(
        "reproduce",
        "List the published tables, or run one: train the model of each row, and print its score beside the "
        "published and the recorded scores. Finished rows are skipped, and interrupted runs resumed.",
    )
    parser.add_argument("table", metavar="TABLE", nargs="?", help="table to run; all are listed by default")
    parser.add_argument("--rows", metavar="ROW", nargs="+", help="rows to run (all)")
    parser.add_argument(
        "--seeds", metavar="SEED", nargs="+", type=int, default=[1], help="seeds of each row (1)"
    )
    parser.add_argument("--quick", action="store_true", help="run a short version, which takes minutes")
    parser.add_argument(
        "--commands", action="store_true", help="print the commands of the rows, without running them"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help=f"folder for models and results ({DEFAULT_OUTPUT}/TABLE, or {DEFAULT_OUTPUT}/TABLE-quick)",
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        default=DEFAULT_DATA,
        help=f"folder with a subfolder for each corpus; missing corpora are downloaded ({DEFAULT_DATA})",
    )
    return parser
