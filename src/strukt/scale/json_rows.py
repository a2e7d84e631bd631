"""Annotation of JSON lines: each object gets a new member with the annotation of its text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from reprlib import repr as shortened
from typing import IO, Any, TextIO

from strukt.data.entities.json_lines import json_object
from strukt.data.entities.json_text import around
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import LineError, line_blocks
from strukt.errors import DataError
from strukt.scale.rows import FIELD, ROWS, Annotate, annotated, sentences


def annotate(source: IO[bytes], key: str, target: TextIO, annotate: Annotate) -> int:
    r"""Write each object with a new member ``strukt``, and all other members unchanged, in constant memory.

    Each line of a text that is not blank is a sentence; the annotations of all sentences of a text are joined. The
    new member is null if the text has no sentences.

    Args:
        source: A stream of JSON lines.
        key: The key of the text in each object.
        target: The stream to write to.
        annotate: Yields the annotation of each sentence of a plain text.

    Returns:
        The number of sentences.

    Raises:
        DataError: If a line is not an object with this key, has a member ``strukt`` already, or has a value other
            than a string or null for the key; or if a sentence cannot be read. The error names the line.

    Examples:
        >>> import io
        >>> target = io.StringIO()
        >>> source = io.BytesIO(b'{"id": 7.0, "text": "Ada spoke ."}\n')
        >>> annotate(source, "text", target, lambda lines, _: (line.decode().upper() for line in lines))
        1
        >>> target.getvalue()
        '{"id": 7.0, "text": "Ada spoke .", "strukt": "ADA SPOKE .\\n"}\n'
    """
    blocks, count = line_blocks(source), 0
    while batch := list(islice(blocks, ROWS)):
        rows = [sentences(_text(block, key)) for block in batch]
        texts = annotated(batch[0].path, [block.line for block in batch], rows, annotate)
        target.writelines(_lines(batch, texts))
        count += sum(map(len, rows))
    return count


def _lines(batch: list[Block], texts: list[str | None]) -> Iterator[str]:
    """Yield the lines with the new member."""
    for block, text in zip(batch, texts, strict=True):
        before, after = around(block.lines[0], FIELD)
        yield f"{before}{json.dumps(text, ensure_ascii=False)}{after}\n"


def _text(block: Block, key: str) -> Any:
    """Return the text of an object, a string or None.

    Raises:
        DataError: If there is no such text, or the object has the key of the new member already.
    """
    example = f'write {{"{key}": "..."}}'
    try:
        content = json_object(block.lines[0], example)
        if key not in content:
            names = ", ".join(content) or "no member"
            raise LineError(f"the object has no {key!r} but {names}", "choose one with --column")
        if FIELD in content:
            raise LineError(
                f"the object has the key {FIELD!r} already", "rename it, since the new key has this name"
            )
        if not isinstance(content[key], str | None):
            raise LineError(f"{key!r} is {shortened(content[key])}", "give text, or null")
    except LineError as error:
        raise DataError(f"{error.message}; {error.remedy}", block.path, block.line) from None
    return content[key]
