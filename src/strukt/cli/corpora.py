"""The files that commands read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from strukt.cli import console
from strukt.data import corpus
from strukt.data.sentence import Sentence
from strukt.errors import DataError

STANDARD_INPUT = "-"

LONG = 1000
"""Words of a sentence; time and memory grow with their square, or faster."""


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
    return warned(chain.from_iterable(corpus.read(path, format, readers) for path in paths))


def warned(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The same sentences; a warning tells of the first one that is so long that its answer takes minutes."""
    is_said = False
    for sentence in sentences:
        if len(sentence) > LONG and not is_said:
            is_said = True
            place = f"{sentence.path}:{sentence.line}"
            console.warning(
                f"{place}: the sentence has {len(sentence):,} words, which may take minutes; "
                "blank lines or line ends separate sentences"
            )
        yield sentence


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
