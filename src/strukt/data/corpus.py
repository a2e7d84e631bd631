"""Reading a corpus in any supported format, which is specified or inferred from the file name."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

from strukt.data import brackets, columns, conllu, listops, text
from strukt.data.classes import labelled, pairs
from strukt.data.conllu import entity_notes, sentence_labels, tree_pairs
from strukt.data.entities import json_lines, layers
from strukt.data.files import Source, name_of
from strukt.data.logical_forms import cogs
from strukt.data.sentence import Sentence
from strukt.errors import DataError

Readers = Mapping[str, Callable[[Source], Iterator[Sentence]]]
"""The functions that read formats, by name of the format; the first format is the default for standard input.

The format "text" is not annotated.
"""

WORDS: Readers = MappingProxyType({"conllu": conllu.read, "columns": columns.read, "text": text.read})
"""Formats of sentences whose words have tags."""

HEADS: Readers = MappingProxyType({"conllu": conllu.read, "text": text.read})
"""Formats of sentences whose words have heads."""

TREES: Readers = MappingProxyType(
    {"brackets": brackets.read, "conllu": conllu.read, "text": brackets.read_text}
)
"""Formats of sentences with constituency trees."""

ENTITIES: Readers = MappingProxyType(
    {
        "conllu": entity_notes.read,
        "columns": layers.read,
        "jsonl": json_lines.read,
        "text": json_lines.read_text,
    }
)
"""Formats of sentences with nested entities."""

ALL_LAYERS: Readers = MappingProxyType({"conllu": entity_notes.read, "text": text.read_for_entities})
"""Formats of sentences whose words have tags and heads, and which have nested entities."""

TEXTS: Readers = MappingProxyType({"text": text.read, "conllu": conllu.read, "brackets": brackets.read})
"""Formats for tasks that need only words, so that plain text can be a corpus."""

LOGICAL_FORMS: Readers = MappingProxyType({"cogs": cogs.read, "text": cogs.read_text})
"""Formats of sentences with logical forms."""

CLASSES: Readers = MappingProxyType(
    {"labelled": labelled.read, "conllu": sentence_labels.read, "text": labelled.read_text}
)
"""Formats of labelled sentences (text classification)."""

PAIRS: Readers = MappingProxyType({"pairs": pairs.read, "conllu": tree_pairs.read, "text": pairs.read})
"""Formats of pairs of sentences with classes; "text" is an alias of "pairs", for pairs without classes."""

LISTS: Readers = MappingProxyType({"listops": listops.read, "text": listops.read_text})
"""Formats of ListOps expressions."""

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
"""The possible formats of each file name extension, after `.gz` is removed; the task decides between them."""


def format_of(source: Source, formats: Collection[str] = tuple(WORDS)) -> str:
    """Infer the format of a file from the end of its name.

    Args:
        source: A path, `-` for standard input, or an open stream.
        formats: The formats that can be read, by default those of `WORDS`; the first one is the default for
            standard input.

    Returns:
        The first format that fits the name and can be read; if none can be read, the first that fits.

    Raises:
        DataError: If the extension of the name is not in `SUFFIXES`.

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
        raise DataError(f"its name does not determine the format; give one of: {', '.join(FORMATS)}", name)
    meant = SUFFIXES[suffix]
    return next((format for format in meant if format in formats), meant[0])


def read(source: Source, format: str | None = None, readers: Readers = WORDS) -> Iterator[Sentence]:
    r"""Read the sentences of a corpus lazily, in any format that `readers` can read.

    Args:
        source: A path, `-` for standard input, or an open stream.
        format: The name of a format, such as "conllu"; if None, inferred from the file name extension before
            `.gz`, or for standard input, the first of `readers`.
        readers: Formats to accept, by purpose: `WORDS`, `HEADS`, `TREES`, `ENTITIES`, `ALL_LAYERS`, `TEXTS`,
            `LOGICAL_FORMS`, `CLASSES`, `PAIRS` or `LISTS`.

    Raises:
        DataError: If the format cannot be inferred or is not among `readers`, or if the reader raises it.
        ValueError: If there is no format of this name.

    Examples:
        >>> import io
        >>> text = io.BytesIO(b"Ada\tB-PER\nspoke\tO\n\n")
        >>> [(sentence.forms, sentence.column("tag")) for sentence in read(text, "columns")]
        [(['Ada', 'spoke'], ['B-PER', 'O'])]
    """
    if format is None:
        format = format_of(source, readers)
    if format not in FORMATS:
        raise ValueError(f"format: there is no {format!r}; choose one of {', '.join(FORMATS)}")
    if format not in readers:
        expected = ("one of " if len(readers) > 1 else "") + ", ".join(readers)
        raise DataError(f"has the format {format}; expected {expected}", name_of(source))
    return readers[format](source)


def read_annotated(source: Source, format: str | None = None, readers: Readers = WORDS) -> Iterator[Sentence]:
    """Read a corpus as `read` does, but reject the format "text" unless `readers` is `TEXTS`.

    Args:
        source: A path, `-` for standard input, or an open stream.
        format: As for `read`.
        readers: As for `read`.

    Raises:
        DataError: If the format is rejected, or if `read` raises it.
        ValueError: If `read` raises it.
    """
    if format is None:
        format = format_of(source, readers)
    if readers is not TEXTS:
        readers = {name: reader for name, reader in readers.items() if name != "text"}
        if format == "text":
            known = ", ".join(readers)
            raise DataError(f"plain text has no annotation; give a corpus as {known}", name_of(source))
    return read(source, format, readers)
