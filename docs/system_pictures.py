"""The pictures of whole systems: accuracy over speed, from the tables of the page of benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import log10
from pathlib import Path

from shapes import dot, line, svg, text

from strukt.viz.canvas.svg import text_width

BENCHMARKS = Path(__file__).parent / "benchmarks.md"

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 690, 30, 360
"""The edges of the plot in the picture, in pixels."""

SIZE = 16.5
"""The size of a bold name, in pixels."""

PEER = "spaCy"
"""Systems whose names begin with this are drawn in the colour of other libraries."""


@dataclass(frozen=True)
class System:
    """A row of the table.

    Attributes:
        name: The name of the system.
        speed: Its speed, in words per second.
        accuracy: Its accuracy, in per cent.
    """

    name: str
    speed: float
    accuracy: float


def picture(section: str, score: str) -> str:
    """Draw a score over words per second (log scale), for the systems of a section of the page."""
    return scatter(read(BENCHMARKS.read_text(encoding="utf-8"), section, score), score)


def read(page: str, section: str, score: str) -> list[System]:
    """Read the systems of a section of the page.

    Args:
        page: The text of the page.
        section: The name between its two marks.
        score: The column to draw, without its unit.

    Raises:
        ValueError: If the section has no such column.
    """
    lines = page.partition(f"<!-- {section}: begin -->")[2].partition(f"<!-- {section}: end -->")[0].splitlines()
    header, _, *rows = [_cells(each) for each in lines if each.startswith("|")]
    columns = [header.index(name) for name in ("system", "words per second", f"{score}, %")]
    chosen = ([row[column] for column in columns] for row in rows)
    return [System(name, _number(speed), _number(accuracy)) for name, speed, accuracy in chosen]


def scatter(systems: list[System], score: str) -> str:
    """Draw each system as a point: further right is faster, further up is more accurate."""
    lowest = 5 * int((min(each.accuracy for each in systems) - 1.5) // 5)  # with a free line below for a name
    highest = 5 * (int(max(each.accuracy for each in systems) // 5) + 1)
    slowest, fastest = (log10(limit(each.speed for each in systems)) for limit in (min, max))
    slowest, fastest = slowest - 0.15, fastest + 0.25

    def place(speed: float, accuracy: float) -> tuple[float, float]:
        across = (log10(speed) - slowest) / (fastest - slowest)
        up = (accuracy - lowest) / (highest - lowest)
        return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    shapes = []
    for accuracy in range(lowest, highest + 1, 5):
        _, y = place(10**slowest, accuracy)
        shapes += [line("net", (LEFT, y), (RIGHT, y)), text(LEFT - 24, y + 4, "quiet", f"{accuracy}")]
    for speed in (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000):
        if slowest <= log10(speed) <= fastest:
            x, _ = place(speed, lowest)
            shapes += [line("net", (x, TOP), (x, BOTTOM)), text(x, BOTTOM + 22, "quiet", f"{speed:,}")]
    points = [place(each.speed, each.accuracy) for each in systems]
    taken = [(x, y + 5, 26.0) for x, y in points]
    for each, (x, y) in zip(systems, points, strict=True):
        role = "field" if each.name.startswith(PEER) else "marginals"
        width = text_width(each.name, SIZE)
        middle, baseline = _free(x, y, width, taken)
        taken.append((middle, baseline, width))
        shapes += [dot(f"dot {role}", x, y, 8), text(middle, baseline, f"name {role}", each.name)]
    shapes.append(text((LEFT + RIGHT) / 2, HEIGHT - 12, "", "words per second, one thread"))
    shapes.append(text(LEFT, TOP - 10, "name", score))
    values = ", ".join(f"{each.name} {each.accuracy:.1f} at {each.speed:,.0f}" for each in systems)
    return svg(WIDTH, HEIGHT, f"{score} over words per second: {values}", shapes)


def _free(x: float, y: float, width: float, taken: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the middle and the baseline of a name of a given width, clear of other names and points.

    Args:
        x: The x coordinate of the system's point. The name is to its left, above it or below it.
        y: The y coordinate of the point.
        width: The width of the name, in pixels.
        taken: The middle, baseline and width of each name and point so far.
    """
    places = (x - width / 2 - 16, y + 5), (x, y - 14), (x, y + 24)
    return next(
        (
            (middle, baseline)
            for middle, baseline in places
            if middle - width / 2 > LEFT - 30
            and all(
                2 * abs(middle - other) > width + size or abs(baseline - near) > 16
                for other, near, size in taken
            )
        ),
        places[1],
    )


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def _number(cell: str) -> float:
    return float(cell.replace(",", "").replace("*", ""))


PICTURES = {
    "systems.svg": partial(picture, "systems-trees", "LAS"),
    "systems-entities.svg": partial(picture, "systems-entities", "F1"),
}
