"""Annotation of rows with a field of text, which get a new field; shared by Parquet and JSON lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from strukt.errors import DataError

FIELD = "strukt"
"""Name of the new field."""

ROWS = 4096
"""Maximum number of rows in memory at the same time."""

_BYTE_ORDER_MARK = "\ufeff"  # which readers drop from the first line, and keep in others

Annotate = Callable[[IO[bytes], Sequence[bool]], Iterator[str]]
"""A function that yields the annotations of the sentences of a stream of plain text, with one sentence per line.

Its second argument tells for each sentence whether a row begins with it.
"""


def sentences(text: str | None) -> list[str]:
    r"""Return the sentences of a row: the lines of its text that are not blank, without byte order marks.

    Examples:
        >>> sentences("Ada spoke .\r\n\nNobody heard .\n"), sentences(None)
        (['Ada spoke .', 'Nobody heard .'], [])
    """
    lines = (line.lstrip(_BYTE_ORDER_MARK).removesuffix("\r") for line in (text or "").split("\n"))
    return [line for line in lines if line.strip()]


def annotated(
    path: str | None, numbers: Sequence[int], rows: Sequence[list[str]], annotate: Annotate
) -> list[str | None]:
    """Return the joined annotations of the sentences of each row; None for rows without sentences.

    Args:
        path: The name of the file for error messages; None if it has no name.
        numbers: The numbers of the rows in the file, counted from 1.
        rows: The sentences of each row.
        annotate: Yields the annotation of each sentence, in order; see `Annotate`.

    Raises:
        DataError: If a sentence cannot be read. The error names the number of its row.
    """
    if not any(rows):
        return [None] * len(rows)
    stream = io.BytesIO("".join(f"{line}\n" for lines in rows for line in lines).encode())
    stream.name = f"{path}:{numbers[0]}"  # identifiers of mentions, which must differ, depend on the name
    texts = annotate(stream, [place == 0 for lines in rows for place in range(len(lines))])
    try:
        return ["".join([next(texts) for _ in lines]) if lines else None for lines in rows]
    except DataError as error:
        owners = [number for number, lines in zip(numbers, rows, strict=True) for _ in lines]
        raise DataError(error.message, path, owners[(error.line or 1) - 1]) from error
