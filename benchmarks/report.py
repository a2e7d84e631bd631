"""Measurements as Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from benchmarks.contest import Case, Family
from benchmarks.measure import Measurement, ratio

HEADINGS = {
    "log-partition": "log-partition",
    "forward": "forward",
    "gradient": "with its gradient",
    "training step": "training step",
    "mode": "mode",
}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, with columns padded so that it is readable as plain text, too."""
    grid = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in grid) for column in range(len(header))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in grid]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """A time in milliseconds, with three significant digits."""
    milliseconds = 1000 * seconds
    return f"{milliseconds:.{max(0, 2 - math.floor(math.log10(milliseconds)))}f} ms"


def time_cell(measured: Measurement) -> str:
    """The median time, or the reason why there is none."""
    if measured.failure:
        return "none" if measured.failure.startswith("NotImplementedError") else "failed"
    return (
        duration(measured.median)
        if measured.right or measured.yardstick
        else f"wrong (error {measured.error:.1e})"
    )


def label(library: str) -> str:
    """The name of a library with its installed version."""
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return library


def speed_table(family: Family, case: Case, measurements: Sequence[Measurement]) -> str:
    """Medians, memory and errors of every library on one case, and strukt's speed relative to the best peer."""
    own = family.contestants[0].name
    header = ["", *(HEADINGS[operation] for operation in family.operations), "extra memory, MB", "error"]
    rows = []
    for contestant in family.contestants:
        mine = {m.operation: m for m in measurements if m.contestant == contestant.name}
        ordered = [mine[operation] for operation in family.operations]
        memory = " / ".join("-" if math.isnan(m.extra) else f"{m.extra / 1e6:.1f}" for m in ordered)
        errors = " / ".join("-" if m.failure or m.yardstick else f"{m.error:.0e}" for m in ordered)
        name = contestant.yardstick or label(contestant.name)
        rows.append([name, *map(time_cell, ordered), memory, errors])
    ahead = [ratio(measurements, own, operation) for operation in family.operations]
    times = ["-" if math.isnan(factor) else f"**{factor:.1f} x**" for factor in ahead]
    rows.append([f"{own} faster than the best peer", *times, "", ""])
    title = f"### {family.title}: {case.name}\n\n{chart_size(case)}"
    return title + table(header, rows) + failures(measurements)


def chart_size(case: Case) -> str:
    """A line with the size in float32 of the smallest table that the recursion fills; empty if there is none."""
    size = 4 * case.chart
    text = f"{size / 1e6:.2f} MB" if size >= 1e4 else f"{size / 1e3:.1f} kB"
    return f"Chart: {text}.\n\n" if size else ""


def failures(measurements: Iterable[Measurement]) -> str:
    """A line for each library and reason of a failure."""
    operations: dict[tuple[str, str], list[str]] = {}
    for measured in measurements:
        if time_cell(measured) == "failed":
            reason = (measured.contestant, measured.failure.splitlines()[0])
            operations.setdefault(reason, []).append(HEADINGS[measured.operation])
    lines = [f"- {name} ({', '.join(which)}): {why}" for (name, why), which in operations.items()]
    return "\n\n" + "\n".join(lines) if lines else ""


def accuracy_table(family: Family, results: Sequence[tuple[Case, Sequence[Measurement]]]) -> str:
    """Errors of every library in the cases with a truth in arbitrary precision."""
    rows = [
        [case.name, name, *(error_cell(m) for m in measurements if m.contestant == name)]
        for case, measurements in results
        for name in [contestant.name for contestant in family.contestants]
    ]
    title = f"### {family.title}: errors in float32\n\n"
    return title + table(["", "", *(HEADINGS[operation] for operation in family.operations)], rows)


def error_cell(measured: Measurement) -> str:
    """The error, or the reason why there is none."""
    if measured.failure:
        return time_cell(measured)
    return f"{measured.error:.0e}" if measured.right else f"wrong ({measured.error:.0e})"
