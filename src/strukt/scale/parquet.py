"""Parquet in and out: a column of text is annotated in a new column; the others and the order of rows stay."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from strukt.errors import DataError, MissingExtraError
from strukt.scale.rows import FIELD, ROWS, Annotate, annotated, sentences


def is_parquet(path: str) -> bool:
    """Whether a file is Parquet, by its name.

    Examples:
        >>> is_parquet("news-00001.parquet"), is_parquet("news.txt")
        (True, False)
    """
    return path.lower().endswith(".parquet")


def cuts(path: str, column: str, size: int) -> list[int]:
    """The rows at which the pieces of a file begin, and the number of rows.

    Args:
        path: A Parquet file.
        column: The column of text.
        size: About how many bytes of text a piece is to have.

    Raises:
        DataError: The file cannot be read, has no such column of text, or has a column `strukt` already.
        MissingExtraError: pyarrow is not installed.
    """
    with _opened(path) as file:
        _check_columns(path, column, file)
        metadata = file.metadata
        index = metadata.schema.names.index(column)
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        text = sum(group.column(index).total_uncompressed_size for group in groups)
        rows = max(1, size * metadata.num_rows // max(text, 1))
        return [*range(0, max(metadata.num_rows, 1), rows), metadata.num_rows]


def annotate(path: str, column: str, start: int, stop: int, target: Path, annotate: Annotate) -> int:
    """Writes the rows of a piece with the new column, in constant memory.

    A row may have several lines: each is a sentence, and what is written for them stands together. A row without
    text has none.

    Args:
        path: A Parquet file.
        column: The column of text.
        start: The first row.
        stop: The row after the last one.
        target: Where to write.
        annotate: Gives what is written for each sentence of a plain text.

    Returns:
        The number of sentences.

    Raises:
        DataError: A row cannot be read, with its number, counted from 1 as the lines of a text.
    """
    import pyarrow
    import pyarrow.parquet

    count = 0
    with _opened(path) as file:
        schema = file.schema_arrow.append(pyarrow.field(FIELD, pyarrow.string()))
        with pyarrow.parquet.ParquetWriter(target, schema) as writer:
            for first, batch in _batches(file, start, stop):
                lines = [sentences(text) for text in batch.column(column).to_pylist()]
                found = annotated(path, range(first + 1, first + 1 + len(lines)), lines, annotate)
                arrays = [*batch.columns, pyarrow.array(found, pyarrow.string())]
                writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
                count += sum(map(len, lines))
    return count


def _opened(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise MissingExtraError("pyarrow", "scale") from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"cannot be read as Parquet: {error}", path) from error


def _check_columns(path: str, column: str, file: Any) -> None:
    import pyarrow

    schema = file.schema_arrow
    if column not in schema.names:
        message = f"has no column {column!r} but {', '.join(schema.names)}; choose one with --column"
        raise DataError(message, path)
    kind = schema.field(column).type
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        raise DataError(
            f"has no text in the column {column!r} but {kind}; choose another with --column", path
        )
    if FIELD in schema.names:
        raise DataError(f"has a column {FIELD!r} already; rename it, since the new one is called so", path)


def _batches(file: Any, start: int, stop: int) -> Iterator[tuple[int, Any]]:
    """The rows from start to stop, in batches, each with the number of its first row, counted from 0."""
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    ends = list(accumulate(sizes))
    groups = [n for n, end in enumerate(ends) if end > start and end - sizes[n] < stop]
    row = ends[groups[0]] - sizes[groups[0]] if groups else 0
    for batch in file.iter_batches(ROWS, row_groups=groups):
        low, high = max(start - row, 0), min(stop - row, len(batch))
        if low < high:
            yield row + low, batch.slice(low, high - low)
        row += len(batch)
