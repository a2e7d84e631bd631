"""Annotation of Parquet: the table gets a new column with the annotation of a column of text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from strukt.errors import DataError, MissingExtraError
from strukt.scale.rows import FIELD, ROWS, Annotate, annotated, sentences


def is_parquet(path: str) -> bool:
    """Return True if a file is Parquet, by its name.

    Examples:
        >>> is_parquet("news-00001.parquet"), is_parquet("news.txt")
        (True, False)
    """
    return path.lower().endswith(".parquet")


def cuts(path: str, column: str, size: int) -> list[int]:
    """Return the indices of the rows at which the pieces of a file begin, and the number of rows.

    Args:
        path: A Parquet file.
        column: The column of text.
        size: Approximate size of a piece in bytes of text.

    Raises:
        DataError: If the file cannot be read, has no such column of text, or has a column ``strukt`` already.
        MissingExtraError: If pyarrow is not installed.
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
    """Write the rows of a piece with a new column ``strukt``, and all other columns unchanged, in constant memory.

    Each line of a text that is not blank is a sentence; the annotations of all sentences of a text are joined. The
    new column is null in rows without sentences.

    Args:
        path: A Parquet file, which `cuts` has checked.
        column: The column of text.
        start: Index of the first row.
        stop: Index after that of the last row.
        target: The file to write, which is replaced if it exists.
        annotate: Yields the annotation of each sentence of a plain text.

    Returns:
        The number of sentences.

    Raises:
        DataError: If the file or a sentence cannot be read. If it is a sentence, the error names its row, counted
            from 1.
        MissingExtraError: If pyarrow is not installed.
    """
    import pyarrow
    import pyarrow.parquet

    count = 0
    with _opened(path) as file:
        schema = file.schema_arrow.append(pyarrow.field(FIELD, pyarrow.string()))
        with pyarrow.parquet.ParquetWriter(target, schema) as writer:
            for first, batch in _batches(file, start, stop):
                lines = [sentences(text) for text in batch.column(column).to_pylist()]
                texts = annotated(path, range(first + 1, first + 1 + len(lines)), lines, annotate)
                arrays = [*batch.columns, pyarrow.array(texts, pyarrow.string())]
                writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
                count += sum(map(len, lines))
    return count


def _opened(path: str) -> Any:
    """Open a file, for use in a ``with`` statement."""
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
    """Raise DataError unless the column holds text and the name of the new column is free."""
    import pyarrow

    schema = file.schema_arrow
    if column not in schema.names:
        message = f"has no column {column!r}, only {', '.join(schema.names)}; choose one with --column"
        raise DataError(message, path)
    kind = schema.field(column).type
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        raise DataError(
            f"has {kind} in the column {column!r}; expected text; choose another column with --column", path
        )
    if FIELD in schema.names:
        raise DataError(
            f"has a column {FIELD!r} already; rename it, since the new column has this name", path
        )


def _batches(file: Any, start: int, stop: int) -> Iterator[tuple[int, Any]]:
    """Yield the rows from ``start`` to ``stop - 1`` in batches, each with the index of its first row."""
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    ends = list(accumulate(sizes))
    groups = [n for n, end in enumerate(ends) if end > start and end - sizes[n] < stop]
    row = ends[groups[0]] - sizes[groups[0]] if groups else 0
    for batch in file.iter_batches(ROWS, row_groups=groups):
        low, high = max(start - row, 0), min(stop - row, len(batch))
        if low < high:
            yield row + low, batch.slice(low, high - low)
        row += len(batch)
