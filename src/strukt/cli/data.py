"""`strukt data`: list and download open corpora."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strukt.cli import console
from strukt.cli.console import UsageError
from strukt.cli.options import Parser
from strukt.cli.termination import Terminated
from strukt.data.corpora.download import Progress, silent
from strukt.data.corpora.obtain import RECORD, obtain
from strukt.data.corpora.open_corpora import CORPORA
from strukt.data.corpora.sources import Corpus
from strukt.data.corpora.treebanks import EXAMPLE, RELEASE, treebank

ACTIONS = ("list", "get")

_STEP = 0.2  # seconds between updates of the progress line


def run(arguments: list[str]) -> int:
    """List the corpora, or download one.

    Raises:
        UsageError: If an argument is missing or superfluous, or the action or the corpus is unknown.
        SettingError: If the name, the version or the language of a treebank is invalid.
        DataError: If the corpus cannot be downloaded, or differs from its checksums.
    """
    options = _parser().parse(arguments)
    if console.choose(options.action, ACTIONS, "action") == "list":
        if options.name is not None:
            raise UsageError(f"list takes no name; to download the corpus: strukt data get {options.name}")
        for name in ("output", "version", "language"):
            if getattr(options, name) is not None:
                raise UsageError(f"--{name} is for strukt data get; omit it")
        print(listing())
        return 0
    if options.name is None:
        raise UsageError("get needs the name of a corpus; see: strukt data list")
    corpus = find(options.name, options.version, options.language)
    folder = Path(options.output or corpus.name)
    try:
        record = obtain(corpus, folder, wait=wait, watch=watch)
    except (KeyboardInterrupt, Terminated):
        console.message("the downloaded part is kept; run the same command to continue")
        raise
    print(summary(corpus, folder, record))
    return 0


def find(name: str, version: str | None, language: str | None) -> Corpus:
    """Return the corpus with this name.

    Raises:
        UsageError: If there is no such corpus, or a version or language is given for one that is not a treebank.
        SettingError: If the name, version or language of a treebank is invalid.
    """
    if name.startswith("UD_"):
        return treebank(name, version, language)
    console.choose(name, [*CORPORA, EXAMPLE], "corpus")
    for option, value in (("version", version), ("language", language)):
        if value is not None:
            raise UsageError(f"--{option} is for treebanks such as {EXAMPLE}, not for {name}; omit it")
    return CORPORA[name]


def listing() -> str:
    """Return the table that `strukt data list` prints."""
    rows = [
        ("corpus", "MB", "tasks", "licence"),
        *(
            (name, _megabytes(corpus.size), ", ".join(corpus.tasks), str(corpus.licence))
            for name, corpus in CORPORA.items()
        ),
        (
            "UD_...",
            "",
            "dependency, tag, pipeline",
            f"varies; any treebank of Universal Dependencies, such as {EXAMPLE}",
        ),
    ]
    name, size, tasks, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(f"{row[0]:<{name}}  {row[1]:>{size}}  {row[2]:<{tasks}}  {row[3]}" for row in rows)


def summary(corpus: Corpus, folder: Path, record: Mapping[str, Any]) -> str:
    """Return the version, licence and citation of a downloaded corpus, and commands to train on it.

    Args:
        corpus: The downloaded corpus.
        folder: The folder of the corpus.
        record: The contents of `SOURCE.json` in this folder.
    """
    present = {name for kind in ("files", "made") for name, note in record[kind].items() if note is not None}
    lines = [
        f"{folder}: {corpus.name}, {corpus.version}",
        f"licence: {record['licence']}",
        f"cite: {corpus.citation}",
        f"recorded in {folder / RECORD}",
    ]
    for command in corpus.commands:
        if set(re.findall(r"\{\}/(\S+)", command)) <= present:
            lines.append(f"train: strukt train {command.replace('{}', shlex.quote(str(folder)))}")
    return "\n".join(lines)


def _megabytes(size: int | None) -> str:
    return "?" if size is None else f"{size / 1e6:,.1f}"


def wait(seconds: float, reason: str) -> None:
    """Warn that an attempt to download has failed for some reason, and wait some seconds before the next one."""
    console.warning(f"{reason}; next attempt in {seconds:.0f} s")
    time.sleep(seconds)


def watch(name: str) -> Progress:
    """Return a function that shows the progress of a download, or nothing if standard error is not a terminal.

    Args:
        name: The name of the downloaded file.
    """
    if not sys.stderr.isatty():
        return silent
    shown = 0.0

    def progress(size: int, total: int | None) -> None:
        nonlocal shown
        is_whole = size == total
        if is_whole or time.monotonic() - shown > _STEP:
            shown = time.monotonic()
            of = "" if total is None else f" of {_megabytes(total)}"
            end = "\n" if is_whole else "\r"  # so that the next message begins on a new line
            print(f"{name}: {_megabytes(size)}{of} MB", end=end, file=sys.stderr, flush=True)

    return progress


def _parser() -> Parser:
    parser = Parser("data", "List open corpora, or download one from its publisher and check it.")
    parser.add_argument("action", metavar="ACTION", help="list or get")
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help=f"corpus to get: a name from the list, or a treebank such as {EXAMPLE}",
    )
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="folder of the corpus (the name of the corpus)"
    )
    parser.add_argument(
        "--version",
        help=f"release or commit of a treebank (a commit with known checksums, or {RELEASE})",
    )
    parser.add_argument(
        "--language", metavar="CODE", help="language code that the file names of a treebank begin with"
    )
    return parser
