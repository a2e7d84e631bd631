"""Rows of which one field is text: it is annotated in a new field, and all else stays."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from strukt.errors import DataError

FIELD = "strukt"
"""The new field."""

ROWS = 4096
"""That are in memory at a time."""

Annotate = Callable[[IO[bytes]], Iterator[str]]
"""What is written for each sentence of a plain text."""


def sentences(text: str | None) -> list[str]:
    r"""The lines of the text of a row, each of which is a sentence.

    Examples:
        >>> sentences("Ada spoke .\r\n\nNobody heard .\n"), sentences(None)
        (['Ada spoke .', 'Nobody heard .'], [])
    """
    return [line.removesuffix("\r") for line in (text or "").split("\n") if line.strip()]


def annotated(
    path: str | None, numbers: Sequence[int], rows: Sequence[list[str]], annotate: Annotate
) -> list[str | None]:
    """What is written for the sentences of each row; None where there are none.

    Args:
        path: How messages call the file, if it has a name.
        numbers: Those of the rows in it, counted from 1.
        rows: Their sentences.
        annotate: Gives what is written for each sentence of a plain text.

    Raises:
        DataError: A sentence cannot be read, with the number of its row.
    """
    if not any(rows):
        return [None] * len(rows)
    stream = io.BytesIO("".join(f"{line}\n" for lines in rows for line in lines).encode())
    found = annotate(stream)
    try:
        return ["".join([next(found) for _ in lines]) if lines else None for lines in rows]
    except DataError as error:
        owners = [number for number, lines in zip(numbers, rows, strict=True) for _ in lines]
        raise DataError(error.message, path, owners[(error.line or 1) - 1]) from error
