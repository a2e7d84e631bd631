"""The files that commands read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain

from strukt.data import corpus
from strukt.data.batching import warned_of_long
from strukt.data.sentence import Sentence
from strukt.errors import DataError

STANDARD_INPUT = "-"


def read(paths: Sequence[str], format: str | None, readers: corpus.Readers) -> Iterator[Sentence]:
    """The sentences of several files, one after the other, read as they are needed.

    Args:
        paths: Files; `-` is standard input.
        format: Their format; if None, the name of each tells.
        readers: What they are read for.

    Raises:
        DataError: A file does not exist (said at once, not when its turn comes) or cannot be read.
    """
    require_files(paths)
    return warned_of_long(chain.from_iterable(corpus.read(path, format, readers) for path in paths))


def require_files(paths: Sequence[str]) -> None:
    """Looks whether files are there before anything else is judged.

    Raises:
        DataError: A path does not exist, or is a folder.
    """
    for path in paths:
        if path != STANDARD_INPUT and not os.path.exists(path):
            raise DataError("there is no such file", path)
        if os.path.isdir(path):
            raise DataError("is a directory; give a file in it", path)
