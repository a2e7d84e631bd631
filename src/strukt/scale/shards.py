"""Cutting corpora into shards, and the parts that their predictions go to."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from strukt.data import corpus
from strukt.data.corpus import SUFFIXES, Readers
from strukt.data.files.digests import explained
from strukt.errors import DataError
from strukt.scale import cuts, parquet

PARQUET, JSON_ROWS = "parquet", "json rows"
"""Formats that are known here alone; what stands in their column is plain text."""

OWN_SUFFIX: Mapping[str, str] = MappingProxyType({PARQUET: ".parquet", JSON_ROWS: ".jsonl"})
"""How the names of their parts end."""

DIGITS = 5
"""At least, of the number of a part."""


@dataclass(frozen=True)
class Input:
    """A corpus.

    Attributes:
        path: As it was given.
        format: Its format.
        size: In bytes.
        changed: When, in nanoseconds since 1970.
    """

    path: str
    format: str
    size: int
    changed: int

    @staticmethod
    def of(path: str, format: str | None, readers: Readers, column: str | None = None) -> Input:
        """A corpus as it is now.

        Args:
            path: A file.
            format: Its format; if None, the name tells.
            readers: What it is to be read for.
            column: Of the text in Parquet and JSON lines, if it was named. JSON lines have one, too, where no
                annotation is read from them.

        Raises:
            DataError: It is no file that can be read in pieces, or not of a format that the readers know.
        """
        with explained(path, "read"):
            status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise DataError("is no regular file, which alone can be cut into shards", path)
        if parquet.is_parquet(path):
            format = PARQUET
        else:
            format = format or corpus.format_of(path, readers)
            if format == "jsonl" and (column or format not in readers):
                format = JSON_ROWS
            elif format not in readers:
                raise DataError(f"is of the format {format}; expected one of {', '.join(readers)}", path)
        return Input(path, format, status.st_size, status.st_mtime_ns)

    def cuts(self, readers: Readers, column: str, size: int) -> list[int]:
        """Where its pieces begin, in bytes or rows, and its end.

        Args:
            readers: What it is read for.
            column: Of Parquet, that of the text.
            size: Of a piece, in bytes.

        Raises:
            DataError: It cannot be read.
        """
        if self.format == PARQUET:
            return parquet.cuts(self.path, column, size)
        return cuts.cuts(self.path, self.format, readers, size)


@dataclass(frozen=True)
class Shard:
    """A piece of a corpus: what a worker does at a time.

    Attributes:
        name: The corpus, as it was given.
        path: The same from the root of the file system, so that a worker that runs elsewhere finds it.
        format: Its format.
        start: The first byte, of Parquet the first row.
        stop: What comes after the last one.
        part: The name of the file to which its prediction goes.
    """

    name: str
    path: str
    format: str
    start: int
    stop: int
    part: str


def shards(
    inputs: Sequence[Input], places: Sequence[Sequence[int]], readers: Readers, plain: bool = False
) -> list[Shard]:
    """All shards, in the order of the corpora.

    Args:
        inputs: The corpora.
        places: The cuts of each.
        readers: What they are read for.
        plain: Whether plain text is written, whatever is read.

    Examples:
        >>> news = Input("news.txt", "text", 300, 0)
        >>> [shard.part for shard in shards([news], [[0, 100, 200, 300]], corpus.WORDS)]
        ['part-00000.conllu', 'part-00001.conllu', 'part-00002.conllu']
    """
    count = sum(len(cut) - 1 for cut in places)
    digits = max(DIGITS, len(str(count - 1)))
    found: list[Shard] = []
    for corpus_, cut in zip(inputs, places, strict=True):
        suffix = _suffix(corpus_.format, readers, plain)
        path = os.path.abspath(corpus_.path)
        for start, stop in pairwise(cut):
            part = f"part-{len(found):0{digits}}{suffix}"
            found.append(Shard(corpus_.path, path, corpus_.format, start, stop, part))
    return found


def selected(all_shards: Sequence[Shard], number: int, count: int) -> list[Shard]:
    """Every `count`-th shard from the `number`-th on, counted from 1; all numbers together give each shard once.

    Examples:
        >>> selected("abcdefg", 2, 3)
        ['b', 'e']
    """
    return list(all_shards[number - 1 :: count])


def unfinished(folder: Path, wanted: Sequence[Shard]) -> list[Shard]:
    """The shards whose parts are not there.

    Args:
        folder: Where the parts are.
        wanted: The shards.

    Raises:
        DataError: The folder cannot be read.
    """
    with explained(folder, "read"):
        there = set(os.listdir(folder))
    return [shard for shard in wanted if shard.part not in there]


def _suffix(format: str, readers: Readers, plain: bool) -> str:
    """How the name of a part ends, which tells its format."""
    if format in OWN_SUFFIX:
        return OWN_SUFFIX[format]
    if plain:
        return ".txt"
    if format == "text":
        format = written_for_text(readers)
    return next(suffix for suffix, formats in SUFFIXES.items() if format in formats)


def written_for_text(readers: Readers) -> str:
    """The format that plain text becomes when it is annotated.

    Examples:
        >>> written_for_text(corpus.WORDS), written_for_text(corpus.ENTITIES)
        ('conllu', 'jsonl')
    """
    module = readers["text"].__module__
    same = (name for name, reader in readers.items() if name != "text" and reader.__module__ == module)
    return next(same, "conllu")
