"""Shards, the pieces of corpora that workers annotate, and parts, the files with their predictions."""

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
"""Formats of tables, with a column of plain text."""

SUFFIX_OF_PARTS: Mapping[str, str] = MappingProxyType({PARQUET: ".parquet", JSON_ROWS: ".jsonl"})
"""Suffixes of the parts of tables, by format."""

DIGITS = 5
"""Minimum number of digits in the name of a part."""


@dataclass(frozen=True)
class Input:
    """A corpus to annotate.

    Attributes:
        path: The path, as the user gave it.
        format: The format of the corpus.
        size: Size in bytes.
        changed: Time of the last change, in nanoseconds since 1970.
    """

    path: str
    format: str
    size: int
    changed: int

    @staticmethod
    def of(path: str, format: str | None, readers: Readers, column: str | None = None) -> Input:
        """Return the description of a corpus file as it is now: its format, size and time of last change.

        Args:
            path: The file to annotate.
            format: The format of the file; if None, it follows from the name. Ignored for ``.parquet`` files.
            readers: The readers of the model, by format.
            column: The column of the text, if the user named one, otherwise None. JSON lines are read as a table
                if a column was named, or if the model cannot read annotation from JSON lines.

        Raises:
            DataError: If the path does not exist or is not a regular file, if the name does not determine the
                format, or if the model has no reader for the format.
        """
        with explained(path, "read"):
            status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise DataError("is not a regular file, and cannot be split into shards; give a file", path)
        if parquet.is_parquet(path):
            format = PARQUET
        else:
            format = format or corpus.format_of(path, readers)
            if format == "jsonl" and (column or format not in readers):
                format = JSON_ROWS
            elif format not in readers:
                raise DataError(f"has the format {format}; expected one of {', '.join(readers)}", path)
        return Input(path, format, status.st_size, status.st_mtime_ns)

    def cuts(self, readers: Readers, column: str, size: int) -> list[int]:
        """Return the positions at which the pieces of the corpus begin, and that of its end.

        They count the rows of Parquet, and bytes of other formats.

        Args:
            readers: The readers of the model, by format; not used for Parquet.
            column: The column of the text in Parquet; ignored for other formats.
            size: Size of a piece in bytes.

        Raises:
            DataError: If the corpus cannot be read, or if a Parquet file has no such column of text, or has a
                column ``strukt`` already.
            MissingExtraError: If the corpus is a Parquet file, and pyarrow is not installed.
        """
        if self.format == PARQUET:
            return parquet.cuts(self.path, column, size)
        return cuts.cuts(self.path, self.format, readers, size)


@dataclass(frozen=True)
class Shard:
    """A piece of a corpus, which a worker annotates as a unit.

    Attributes:
        name: The path of the corpus, as the user gave it.
        path: The absolute path of the corpus, so that workers in other folders find it.
        format: The format of the corpus.
        start: The position of the first byte, or of the first row of Parquet.
        stop: The position after the last byte or row.
        part: The name of the file for the predictions, in the output folder.
    """

    name: str
    path: str
    format: str
    start: int
    stop: int
    part: str

    @property
    def source(self) -> str:
        """A name that no other shard of the corpus has: that of the corpus, and the start if it is not 0."""
        return f"{self.name}:{self.start}" if self.start else self.name


def shards(
    inputs: Sequence[Input], places: Sequence[Sequence[int]], readers: Readers, plain: bool = False
) -> list[Shard]:
    """Return the shards of all corpora in order; their parts are numbered from 0.

    Args:
        inputs: The corpora to annotate.
        places: The positions at which each corpus is cut, as `Input.cuts` returns them.
        readers: The readers of the model, by format.
        plain: Whether parts are plain text; those of tables are tables in any case.

    Examples:
        >>> news = Input("news.txt", "text", 300, 0)
        >>> [shard.part for shard in shards([news], [[0, 100, 200, 300]], corpus.WORDS)]
        ['part-00000.conllu', 'part-00001.conllu', 'part-00002.conllu']
    """
    count = sum(len(cut) - 1 for cut in places)
    digits = max(DIGITS, len(str(count - 1)))
    result: list[Shard] = []
    for corpus_, cut in zip(inputs, places, strict=True):
        suffix = _suffix(corpus_.format, readers, plain)
        path = os.path.abspath(corpus_.path)
        for start, stop in pairwise(cut):
            part = f"part-{len(result):0{digits}}{suffix}"
            result.append(Shard(corpus_.path, path, corpus_.format, start, stop, part))
    return result


def selected(all_shards: Sequence[Shard], number: int, count: int) -> list[Shard]:
    """Return every ``count``-th shard, starting with the ``number``-th, counted from 1.

    Examples:
        >>> selected("abcdefg", 2, 3)
        ['b', 'e']
    """
    return list(all_shards[number - 1 :: count])


def unfinished(folder: Path, shards: Sequence[Shard]) -> list[Shard]:
    """Return the shards whose parts are missing in a folder.

    Args:
        folder: The folder of the parts.
        shards: The shards to look up.

    Raises:
        DataError: If the folder cannot be read.
    """
    with explained(folder, "read"):
        present = set(os.listdir(folder))
    return [shard for shard in shards if shard.part not in present]


def _suffix(format: str, readers: Readers, plain: bool) -> str:
    """Return the suffix of the parts of a corpus, which determines their format."""
    if format in SUFFIX_OF_PARTS:
        return SUFFIX_OF_PARTS[format]
    if plain:
        return ".txt"
    if format == "text":
        format = written_for_text(readers)
    return next(suffix for suffix, formats in SUFFIXES.items() if format in formats)


def written_for_text(readers: Readers) -> str:
    """Return the format in which a model writes annotated plain text.

    Examples:
        >>> written_for_text(corpus.WORDS), written_for_text(corpus.ENTITIES)
        ('conllu', 'jsonl')
    """
    module = readers["text"].__module__
    same = (name for name, reader in readers.items() if name != "text" and reader.__module__ == module)
    return next(same, "conllu")
