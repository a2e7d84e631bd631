"""How numbers change from place to place, such as errors with the length of sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strukt.errors import OutOfRangeError
from strukt.shown import Shown

WIDE = 100.0
"""Where the largest number is so many times the smallest, steps of the same height are the same factor."""


@dataclass(frozen=True)
class Curves(Shown):
    """Numbers by name and place.

    Args:
        title: What the numbers are.
        places: The names of the places, from left to right.
        curves: By the name of each curve a number for each place.

    Raises:
        ValueError: If there is not one number, and a finite one, for each place.

    Examples:
        >>> curves = Curves("error", ["1-5", "6-10"], {"with": [1.0, 2.0], "without": [2.0, 3.0]})
        >>> curves.heights()
        {'with': [0.0, 0.5], 'without': [0.5, 1.0]}
        >>> Curves("error", ["1-5", "6-10"], {"with": [0.01, 100.0]}).is_logarithmic
        True
    """

    title: str
    places: Sequence[str]
    curves: Mapping[str, Sequence[float]]

    def __post_init__(self) -> None:
        for name, values in self.curves.items():
            if len(values) != len(self.places):
                raise ValueError(
                    f"curves: got {len(values)} numbers of {name!r}, expected {len(self.places)}"
                )
            for value in values:
                if not math.isfinite(value):
                    raise OutOfRangeError(f"curves: got {value} in {name!r}, expected finite numbers")

    @property
    def is_logarithmic(self) -> bool:
        """Whether numbers are so far apart that heights are their logarithms."""
        every = self._every()
        return bool(every) and min(every) > 0 and max(every) / min(every) >= WIDE

    def heights(self) -> dict[str, list[float]]:
        """Where each number lies between the smallest (0) and the largest (1)."""
        return {name: [self._height(value) for value in values] for name, values in self.curves.items()}

    def ticks(self) -> list[tuple[float, str]]:
        """Heights that are marked, with their numbers: the smallest, the largest, and one between."""
        every = self._every()
        if not every:
            return []
        low, high = min(every), max(every)
        middle = math.sqrt(low * high) if self.is_logarithmic else (low + high) / 2
        return [(self._height(value), f"{value:.3g}") for value in dict.fromkeys((low, middle, high))]

    def description(self) -> str:
        """The numbers in words, for those who do not see them."""
        said = []
        for name, values in self.curves.items():
            numbers = (f"{place} {value:.3g}" for place, value in zip(self.places, values, strict=True))
            said.append(f"{name}: {', '.join(numbers)}")
        return f"{self.title}; {'; '.join(said)}"

    def _every(self) -> list[float]:
        return [value for values in self.curves.values() for value in values]

    def _height(self, value: float) -> float:
        every = self._every()
        low, high = min(every), max(every)
        if self.is_logarithmic:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low or 1.0)
