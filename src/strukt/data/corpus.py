"""Reading a corpus whatever its format, which is known from the end of its name or given."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

from strukt.data import (
    brackets,
    cogs,
    columns,
    conllu,
    conllu_classes,
    conllu_entities,
    conllu_pairs,
    json_lines,
    labelled,
    layers,
    listops,
    pairs,
    text,
)
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

ALL_LAYERS: Readers = MappingProxyType({"conllu": conllu_entities.read, "text": text.read_for_entities})
"""For sentences whose words have tags and heads, and whose entities nest."""

TEXTS: Readers = MappingProxyType({"text": text.read, "conllu": conllu.read, "brackets": brackets.read})
"""Of sentences whose words are all that counts, so that plain text is a corpus, too."""

LOGICAL_FORMS: Readers = MappingProxyType({"cogs": cogs.read, "text": cogs.read_text})
"""Of sentences with logical forms."""

CLASSES: Readers = MappingProxyType(
    {"labelled": labelled.read, "conllu": conllu_classes.read, "text": labelled.read_text}
)
"""Of sentences that are each of a class."""

PAIRS: Readers = MappingProxyType({"pairs": pairs.read, "conllu": conllu_pairs.read, "text": pairs.read})
"""Of pairs of sentences that are each of a class; as text they have none."""

LISTS: Readers = MappingProxyType({"listops": listops.read, "text": listops.read_text})
"""Of expressions of lists."""

FORMATS = ("conllu", "columns", "brackets", "jsonl", "cogs", "labelled", "pairs", "listops", "text")
"""All formats."""

SUFFIXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        ".conllu": ("conllu",),
        ".conll": ("columns",),
        ".tsv": ("columns", "cogs", "labelled", "pairs", "listops"),
        ".bio": ("columns",),
        ".iob": ("columns",),
        ".annotated": ("columns",),
        ".ptb": ("brackets",),
        ".mrg": ("brackets",),
        ".brackets": ("brackets",),
        ".jsonl": ("jsonl",),
        ".txt": ("text",),
    }
)
"""The formats that the end of a file name may stand for, after a `.gz` is taken off; what is read for decides."""


def format_of(source: Source, formats: Collection[str] = tuple(WORDS)) -> str:
    """The format of a file, by the end of its name.

    Args:
        source: A path, `-` for standard input, or an open stream.
        formats: Those that can be read; the first one is that of standard input.

    Returns:
        The first format that the name may stand for and that can be read; if there is none, one that cannot.

    Raises:
        DataError: The name says nothing about the format.

    Examples:
        >>> format_of("en_ewt-ud-train.conllu.gz"), format_of("emerging.dev.tsv")
        ('conllu', 'columns')
        >>> format_of("train.tsv.gz", LOGICAL_FORMS)
        'cogs'
    """
    name = name_of(source)
    if name == "<stdin>":
        return next(iter(formats))
    suffix = os.path.splitext(name.removesuffix(".gz"))[1].lower()
    if suffix not in SUFFIXES:
        raise DataError(f"its name does not tell the format; state one of: {', '.join(FORMATS)}", name)
    meant = SUFFIXES[suffix]
    return next((format for format in meant if format in formats), meant[0])


def read(source: Source, format: str | None = None, readers: Readers = WORDS) -> Iterator[Sentence]:
    """Reads a corpus lazily.

    Args:
        source: A path, `-` for standard input, or an open stream.
        format: One of `FORMATS`; if None it is known from the name, and standard input has the first of `readers`.
        readers: What the corpus is read for: `WORDS`, `TREES`, `ENTITIES`, `TEXTS`, `LOGICAL_FORMS`, `CLASSES`,
            `PAIRS` or `LISTS`.

    Raises:
        DataError: The format is not known from the name, or not one of the readers', or as the reader.
        ValueError: There is no such format.
    """
    if format is None:
        format = format_of(source, readers)
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
        format = format_of(source, readers)
    if format == "text" and readers is not TEXTS:
        known = ", ".join(name for name in readers if name != "text")
        raise DataError(f"plain text has no annotation; give a corpus as {known}", name_of(source))
    return read(source, format, readers)
