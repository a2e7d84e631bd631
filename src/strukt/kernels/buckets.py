"""Buckets of the distances between positions, and their places in tensors."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Buckets(NamedTuple):
    """The assignment of pairs of positions to places, by their distance.

    Attributes:
        reach: g; None if the distance does not matter. Place 0 is for i - j < -g, followed by the distances from
            -g to -1 and from 1 to g, and place 2g + 1 is for i - j > g. A pair i, i has the place for all pairs
            only.
        shared: Whether the last place is for all pairs. Without a reach there is no other place.
    """

    reach: int | None
    shared: bool = True

    @property
    def places(self) -> int:
        """The number of places, f."""
        return 1 if self.reach is None else 2 * self.reach + 2 + self.shared

    def diagonals(self, n: int | None = None) -> list[tuple[int, int]]:
        """Return (place, j - i) for each single distance, or only for those that occur among n positions."""
        if self.reach is None:
            return []
        distances = [*range(-self.reach, 0), *range(1, self.reach + 1)]
        return [(place, -x) for place, x in enumerate(distances, 1) if n is None or abs(x) < n]

    @property
    def for_all(self) -> int | None:
        """The place for all pairs; None if there is none."""
        return self.places - 1 if self.shared or self.reach is None else None

    def triangles(self, n: int) -> tuple[int, int] | None:
        """Return the places for distant pairs, with j > i and with j < i; None if n positions have no such pairs.

        Without a reach, no pairs are distant.
        """
        return None if self.reach is None or n <= self.reach + 1 else (0, 2 * self.reach + 1)

    def clear_near(self, pairs: Tensor) -> Tensor:
        """Set the pairs ``(..., n, n)`` that are not distant to 0, in place, and return them."""
        n, reach = pairs.shape[-1], self.reach or 0
        for offset in range(-min(reach, n - 1), min(reach, n - 1) + 1):
            pairs.diagonal(offset, -2, -1).zero_()
        return pairs
