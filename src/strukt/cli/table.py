"""Plain-text tables, for terminals and pipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strukt.viz.canvas.width import display_width, pad, pad_left


def table(rows: Sequence[Sequence[str]]) -> str:
    """Format rows as a table, with the first column aligned left and all others aligned right.

    Args:
        rows: Rows with the same number of cells.

    Examples:
        >>> print(table([("", "UAS"), ("strukt", "91.20"), ("baseline", "9.1")]))
                    UAS
        strukt    91.20
        baseline    9.1
    """
    widths = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first = pad(row[0], widths[0])
    others = [pad_left(cell, columns) for cell, columns in zip(row[1:], widths[1:], strict=True)]
    return "  ".join([first, *others]).rstrip()


def percentages(results: Mapping[str, float]) -> str:
    """Format scores, one per line, with two decimal places.

    Examples:
        >>> print(percentages({"UAS": 91.2, "LAS": 89.0}))
        UAS  91.20
        LAS  89.00
    """
    return table([(name, f"{value:.2f}") for name, value in results.items()])


def detailed(name: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """Format a table of scores with a row for each label, depth or the like.

    Args:
        name: The header of the first column.
        rows: The scores of each row by the name of the column; at least one row, and the same columns in each. The
            column `gold` holds numbers of gold instances; all others have two decimal places.

    Examples:
        >>> print(detailed("type", {"place": {"f1": 50.0, "gold": 4}, "time": {"f1": 100.0, "gold": 1}}))
        type       f1  gold
        place   50.00     4
        time   100.00     1
    """
    columns = list(next(iter(rows.values())))
    cells = [[row, *(_cell(column, values[column]) for column in columns)] for row, values in rows.items()]
    return table([[name, *columns], *cells])


def _cell(column: str, value: float) -> str:
    """Format a value: without decimal places in the column `gold`, with two in all others."""
    return f"{value:,.0f}" if column == "gold" else f"{value:.2f}"
