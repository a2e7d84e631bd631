"""A table of numbers to be seen as shades."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from strukt.errors import OutOfRangeError
from strukt.shown import Shown


@dataclass(frozen=True)
class HeatMap(Shown):
    """Numbers by row and column, such as the Hamming distances between the codes of labels, or attention.

    Args:
        title: What the numbers are.
        rows: The names of the rows.
        columns: The names of the columns.
        values: The numbers of each row. The largest has the strongest shade, the smallest none.

    Raises:
        ValueError: If there is not one number, and a finite one, for each row and column.

    Examples:
        >>> HeatMap("Distance", ["NP", "VP"], ["NP", "VP"], [[0, 3], [3, 0]]).numbers()
        [['0', '3'], ['3', '0']]
        >>> HeatMap("Attention", ["a"], ["b", "c"], [[0.25, 0.75]]).description()
        'Attention: a × b 0.25, a × c 0.75'
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.rows):
            raise ValueError(f"values: got {len(self.values)} rows, expected {len(self.rows)}")
        for name, row in zip(self.rows, self.values, strict=True):
            if len(row) != len(self.columns):
                raise ValueError(f"values: got {len(row)} in row {name!r}, expected {len(self.columns)}")
            for value in row:
                if not math.isfinite(value):
                    raise OutOfRangeError(f"values: got {value} in row {name!r}, expected finite numbers")

    def shades(self) -> list[list[float]]:
        """Where each value lies between the smallest (0) and the largest (1) in the table; 0 if all are equal."""
        every = [value for row in self.values for value in row]
        lowest = min(every, default=0.0)
        spread = max(every, default=0.0) - lowest or 1.0
        return [[(value - lowest) / spread for value in row] for row in self.values]

    def numbers(self) -> list[list[str]]:
        """The values as they stand in the cells: whole if all are, otherwise with two decimals."""
        decimals = 0 if all(float(value).is_integer() for row in self.values for value in row) else 2
        return [[f"{value:.{decimals}f}" for value in row] for row in self.values]

    def description(self) -> str:
        """The table in words, for those who do not see it."""
        cells = [
            f"{row} × {column} {number}"
            for row, numbers in zip(self.rows, self.numbers(), strict=True)
            for column, number in zip(self.columns, numbers, strict=True)
        ]
        return f"{self.title}: {', '.join(cells)}"
