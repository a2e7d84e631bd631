"""JSON lines in and out: a text in each object is annotated as another of its members."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from reprlib import repr as shortened
from typing import IO, Any, TextIO

from strukt.data.entities.json_lines import json_object
from strukt.data.entities.json_text import around
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import Faulty, line_blocks
from strukt.errors import DataError
from strukt.scale.rows import FIELD, ROWS, Annotate, annotated, sentences


def annotate(source: IO[bytes], key: str, target: TextIO, annotate: Annotate) -> int:
    r"""Writes each object with the new member, the rest as it is written; constant memory.

    A text may have several lines: each is a sentence, and what is written for them stands together. Where there is
    none, nothing is added but null.

    Args:
        source: JSON lines.
        key: Of the text in each object.
        target: Where to write.
        annotate: Gives what is written for each sentence of a plain text.

    Returns:
        The number of sentences.

    Raises:
        DataError: A line is no such object, or its text cannot be read; with file and line.

    Examples:
        >>> import io
        >>> found = io.StringIO()
        >>> source = io.BytesIO(b'{"id": 7.0, "text": "Ada spoke ."}\n')
        >>> annotate(source, "text", found, lambda lines: (line.decode().upper() for line in lines))
        1
        >>> found.getvalue()
        '{"id": 7.0, "text": "Ada spoke .", "strukt": "ADA SPOKE .\\n"}\n'
    """
    blocks, count = line_blocks(source), 0
    while batch := list(islice(blocks, ROWS)):
        rows = [sentences(_text(block, key)) for block in batch]
        found = annotated(batch[0].path, [block.line for block in batch], rows, annotate)
        target.writelines(_lines(batch, found))
        count += sum(map(len, rows))
    return count


def _lines(batch: list[Block], found: list[str | None]) -> Iterator[str]:
    for block, text in zip(batch, found, strict=True):
        before, after = around(block.lines[0], FIELD)
        yield f"{before}{json.dumps(text, ensure_ascii=False)}{after}\n"


def _text(block: Block, key: str) -> Any:
    example = f'write {{"{key}": "..."}}'
    try:
        content = json_object(block.lines[0], example)
        if key not in content:
            names = ", ".join(content) or "no member"
            raise Faulty(f"the object has no {key!r} but {names}", "choose one with --column")
        if FIELD in content:
            raise Faulty(
                f"the object has the key {FIELD!r} already", "rename it, since the new one is called so"
            )
        if not isinstance(content[key], str | None):
            raise Faulty(f"{key!r} is {shortened(content[key])}", "give text, or null")
    except Faulty as error:
        raise DataError(f"{error.message}; {error.remedy}", block.path, block.line) from None
    return content[key]
