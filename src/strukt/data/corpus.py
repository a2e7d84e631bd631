"""Reading a corpus whatever its format, which is known from the end of its name or given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from strukt.data import brackets, columns, conllu, conllu_entities, json_lines, layers, text
from strukt.data.files import Source, name_of
from strukt.data.sentence import Sentence
from strukt.errors import DataError

Readers = Mapping[str, Callable[[Source], Iterator[Sentence]]]
"""The reader of each format; the first one is that of standard input."""

WORDS: Readers = MappingProxyType({"conllu": conllu.read, "columns": columns.read, "text": text.read})
"""Of sentences whose words have tags or heads."""

TREES: Readers = MappingProxyType(
    {"brackets": brackets.read, "conllu": conllu.read, "text": brackets.read_text}
)
"""Of sentences with constituency trees."""

ENTITIES: Readers = MappingProxyType(
    {
        "conllu": conllu_entities.read,
        "columns": layers.read,
        "jsonl": json_lines.read,
        "text": json_lines.read_text,
    }
)
"""Of sentences with nested entities."""

TEXTS: Readers = MappingProxyType({"text": text.read, "conllu": conllu.read, "brackets": brackets.read})
"""Of sentences whose words are all that counts, so that plain text is a corpus, too."""

FORMATS = ("conllu", "columns", "brackets", "jsonl", "text")
"""All formats."""

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".conllu": "conllu",
        ".conll": "columns",
        ".tsv": "columns",
        ".bio": "columns",
        ".iob": "columns",
        ".annotated": "columns",
        ".ptb": "brackets",
        ".mrg": "brackets",
        ".brackets": "brackets",
        ".jsonl": "jsonl",
        ".txt": "text",
    }
)
"""The format that the end of a file name stands for, after a `.gz` is taken off."""


def format_of(source: Source, standard_input: str = "conllu") -> str:
    """The format of a file, by the end of its name.

    Args:
        source: A path, `-` for standard input, or an open stream.
        standard_input: The format of standard input.

    Raises:
        DataError: The name says nothing about the format.

    Examples:
        >>> format_of("en_ewt-ud-train.conllu.gz"), format_of("emerging.dev.tsv")
        ('conllu', 'columns')
    """
    name = name_of(source)
    if name == "<stdin>":
        return standard_input
    suffix = os.path.splitext(name.removesuffix(".gz"))[1].lower()
    if suffix not in SUFFIXES:
        raise DataError(f"its name does not tell the format; state one of: {', '.join(FORMATS)}", name)
    return SUFFIXES[suffix]


def read(source: Source, format: str | None = None, readers: Readers = WORDS) -> Iterator[Sentence]:
    """Reads a corpus lazily.

    Args:
        source: A path, `-` for standard input, or an open stream.
        format: One of `FORMATS`; if None it is known from the name, and standard input has the first of `readers`.
        readers: What the corpus is read for: `WORDS`, `TREES`, `ENTITIES` or `TEXTS`.

    Raises:
        DataError: The format is not known from the name, or not one of the readers', or as the reader.
        ValueError: There is no such format.
    """
    if format is None:
        format = format_of(source, next(iter(readers)))
    if format not in FORMATS:
        raise ValueError(f"format: there is no {format!r}; choose one of {', '.join(FORMATS)}")
    if format not in readers:
        raise DataError(f"is of the format {format}; expected one of {', '.join(readers)}", name_of(source))
    return readers[format](source)


def read_annotated(source: Source, format: str | None = None, readers: Readers = WORDS) -> Iterator[Sentence]:
    """Reads a corpus as `read` does, but no plain text where more than words is needed.

    Raises:
        DataError: It is such plain text, or as `read`.
    """
    if format is None:
        format = format_of(source, next(iter(readers)))
    if format == "text" and readers is not TEXTS:
        known = ", ".join(name for name in readers if name != "text")
        raise DataError(f"plain text has no annotation; give a corpus as {known}", name_of(source))
    return read(source, format, readers)
