"""Measurements as Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from benchmarks.contest import Case, Family
from benchmarks.measure import Measurement, ratio

SPEED_UP = "**speed-up**"
"""The name of the row with the time of the fastest peer, divided by that of strukt."""

Results = Sequence[tuple[Case, Sequence[Measurement]]]
"""The measurements of each case of a family."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, with columns padded so that it is readable as plain text, too."""
    grid = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in grid) for column in range(len(header))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in grid]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds, without the unit, with three significant digits."""
    number = 1000 * seconds
    return f"{number:.{max(0, 2 - math.floor(math.log10(number)))}f}"


def duration(seconds: float) -> str:
    """Return a time in milliseconds with its unit."""
    return f"{milliseconds(seconds)} ms"


def time_cell(measured: Measurement) -> str:
    """Return the median milliseconds, or the reason why there is none."""
    if measured.failure:
        return "none" if measured.failure.startswith("NotImplementedError") else "failed"
    return (
        milliseconds(measured.median)
        if measured.right or measured.yardstick
        else f"wrong (error {measured.error:.1e})"
    )


def label(library: str) -> str:
    """Return the name of a library with its installed version."""
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return library


def headings(title: str) -> tuple[str, str]:
    """Return the heading of a family's tables, and the sizes of its cases, which are in brackets in its title."""
    name, _, rest = title.partition(" (")
    sizes, _, details = rest.partition(")")
    return name + details, sizes


def speed_table(family: Family, results: Results) -> str:
    """Return medians, memory and errors of every library in every case, and the speed-up of strukt."""
    heading, sizes = headings(family.title)
    times = [f"{name}, ms" for name in family.operations]
    rows = [row for case, measurements in results for row in _rows(family, case, measurements)]
    body = table([sizes, "library", *times, "memory, MB", "error"], rows)
    return f"### {heading}\n\n{body}{failures(results)}"


def _rows(family: Family, case: Case, measurements: Sequence[Measurement]) -> Iterator[list[str]]:
    """Yield a row for each library, the first of them with the name of the case, and then the speed-ups."""
    own = family.contestants[0].name
    for contestant in family.contestants:
        mine = {m.operation: m for m in measurements if m.contestant == contestant.name}
        ordered = [mine[operation] for operation in family.operations]
        first = case.name if contestant.name == own else ""
        name = contestant.yardstick or label(contestant.name)
        yield [first, name, *map(time_cell, ordered), _largest(ordered, "extra", 1e6, ".1f"), _error(ordered)]
    ahead = [ratio(measurements, own, operation) for operation in family.operations]
    factors = ["-" if math.isnan(factor) else f"**{factor:.1f} x**" for factor in ahead]
    yield ["", SPEED_UP, *factors, "", ""]


def _error(measurements: Sequence[Measurement]) -> str:
    return _largest([m for m in measurements if not m.failure and not m.yardstick], "error", 1.0, ".0e")


def _largest(measurements: Sequence[Measurement], name: str, unit: float, form: str) -> str:
    """Return the largest value of a field of some measurements, without missing ones; "-" if all are missing."""
    numbers = [getattr(each, name) for each in measurements]
    known = [number for number in numbers if not math.isnan(number)]
    return f"{max(known) / unit:{form}}" if known else "-"


def failures(results: Results) -> str:
    """Return a line for each case, library and reason of a failure."""
    operations: dict[tuple[str, str, str], list[str]] = {}
    for case, measurements in results:
        for measured in measurements:
            if time_cell(measured) == "failed":
                reason = (case.name, measured.contestant, measured.failure.splitlines()[0])
                operations.setdefault(reason, []).append(measured.operation)
    lines = [f"- {size}, {name} ({', '.join(each)}): {why}" for (size, name, why), each in operations.items()]
    return "\n\n" + "\n".join(lines) if lines else ""


def accuracy_table(family: Family, results: Results) -> str:
    """Return the errors of every library in the cases with a truth in arbitrary precision."""
    heading, sizes = headings(family.title)
    own = family.contestants[0].name
    rows = [
        [case.name if name == own else "", name, *(error_cell(m) for m in measurements if m.contestant == name)]
        for case, measurements in results
        for name in [contestant.name for contestant in family.contestants]
    ]
    errors = [f"{name}, error" for name in family.operations]
    return f"### {heading}: errors in float32\n\n" + table([sizes, "library", *errors], rows)


def error_cell(measured: Measurement) -> str:
    """Return the error, or the reason why there is none."""
    if measured.failure:
        return time_cell(measured)
    return f"{measured.error:.0e}" if measured.right else f"wrong ({measured.error:.0e})"
