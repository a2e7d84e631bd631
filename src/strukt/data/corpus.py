"""Reading a corpus whatever its format, which is known from the end of its name or given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from strukt.data import columns, conllu, text
from strukt.data.files import Source, name_of
from strukt.data.sentence import Sentence
from strukt.errors import DataError

FORMATS: Mapping[str, Callable[[Source], Iterator[Sentence]]] = MappingProxyType(
    {"conllu": conllu.read, "columns": columns.read, "text": text.read}
)
"""The reader of each format."""

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".conllu": "conllu",
        ".conll": "columns",
        ".tsv": "columns",
        ".bio": "columns",
        ".iob": "columns",
        ".annotated": "columns",
        ".txt": "text",
    }
)
"""The format that the end of a file name stands for, after a `.gz` is taken off."""


def format_of(source: Source) -> str:
    """The format of a file, by the end of its name.

    Raises:
        DataError: The name says nothing about the format.

    Examples:
        >>> format_of("en_ewt-ud-train.conllu.gz"), format_of("emerging.dev.tsv")
        ('conllu', 'columns')
    """
    name = name_of(source)
    suffix = os.path.splitext(name.removesuffix(".gz"))[1].lower()
    if suffix not in SUFFIXES:
        raise DataError(f"its name does not tell the format; state one of: {', '.join(FORMATS)}", name)
    return SUFFIXES[suffix]


def read_annotated(source: Source, format: str | None = None) -> Iterator[Sentence]:
    """Reads a corpus as `read` does, but no plain text.

    Raises:
        DataError: It is plain text, or as `read`.
    """
    if (format or format_of(source)) == "text":
        raise DataError(
            "plain text has no annotation; give a CoNLL-U file or one with two columns", name_of(source)
        )
    return read(source, format)


def read(source: Source, format: str | None = None) -> Iterator[Sentence]:
    """Reads a corpus lazily.

    Args:
        source: A path, `-` for standard input, or an open stream.
        format: One of `FORMATS`; if None it is known from the name.

    Raises:
        DataError: The format is not known from the name, or as the reader of the format.
        ValueError: There is no such format.
    """
    if format is None:
        format = format_of(source)
    if format not in FORMATS:
        raise ValueError(f"format: there is no {format!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[format](source)
