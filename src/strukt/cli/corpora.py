"""Input files of commands: check that they exist, and read them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain

from strukt.cli.console import UsageError
from strukt.data import corpus
from strukt.data.batching import warn_about_long
from strukt.data.sentence import Sentence
from strukt.errors import DataError

STANDARD_INPUT = "-"


def read(paths: Sequence[str], format: str | None, readers: corpus.Readers) -> Iterator[Sentence]:
    """Read the sentences of several files lazily, one file after another.

    Args:
        paths: The files to read; `-` is standard input.
        format: The format of all files; if None, it follows from the name of each file.
        readers: The readers of the task or the model, by format.

    Raises:
        DataError: If a file does not exist (raised at once) or cannot be read (raised when it is read).
        UsageError: If `-` occurs twice (raised at once).
    """
    require_files(paths)
    return warn_about_long(chain.from_iterable(corpus.read(path, format, readers) for path in paths))


def require_files(paths: Sequence[str]) -> None:
    """Check that paths lead to files, not to folders; `-` is permitted once.

    Raises:
        DataError: If a path does not exist, or is a folder.
        UsageError: If `-` occurs twice.
    """
    require_one_standard_input(paths)
    for path in paths:
        if path != STANDARD_INPUT and not os.path.exists(path):
            raise DataError("there is no such file", path)
        if os.path.isdir(path):
            raise DataError("is a directory; give a file in it", path)


def require_one_standard_input(paths: Sequence[str]) -> None:
    """Check that at most one of the files of a command is standard input, which can be read only once.

    Raises:
        UsageError: If `-` occurs twice.
    """
    if list(paths).count(STANDARD_INPUT) > 1:
        raise UsageError("- is given twice; standard input can be read only once, so give it once")
