"""Which tests of a product of parameters run without `--slow`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest


def is_kept(places: Mapping[str, int], sizes: Mapping[str, int]) -> bool:
    """Tell whether a combination is among the few that show every value once, for each value of the others.

    Args:
        places: For each parameter the place of its value among all of them.
        sizes: For each parameter that is thinned the number of its values. Beside every value of the other
            parameters they are paired anew, so that many of them meet.
    """
    turn = sum(place for name, place in places.items() if name not in sizes)
    return any(
        all(places[name] == (step + rank * turn) % size for rank, (name, size) in enumerate(sizes.items()))
        for step in range(max(sizes.values()))
    )


def is_thinned_out(item: pytest.Item) -> bool:
    """Tell whether the marker `thinned`, which names parameters of a test, leaves this combination to `--slow`."""
    marker = item.get_closest_marker("thinned")
    if marker is None:
        return False
    places, sizes = {}, dict.fromkeys(marker.args, 0)
    for decorator in item.iter_markers("parametrize"):
        names, values = _table(*decorator.args)
        name = next((name for name in names if name in sizes), names[0])
        given = item.callspec.params[name]
        column = [row[names.index(name)] for row in values]
        places[name] = next(place for place, value in enumerate(column) if value is given)
        if name in sizes:
            sizes[name] = len(values)
    return not is_kept(places, sizes)


def _table(names: str | Sequence[str], values: Iterable[Any]) -> tuple[list[str], list[Sequence[Any]]]:
    """The names of a decorator `parametrize`, and a row of values of them for each test."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    marked = type(pytest.param())
    alone = len(names) == 1
    return names, [row.values if isinstance(row, marked) else (row,) if alone else row for row in values]
