"""Curves over the places of a horizontal axis, such as errors by sentence length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from strukt.errors import OutOfRangeError
from strukt.viz.canvas.svg import FORM, SMALL, opening, text, text_width
from strukt.viz.canvas.terminal import Palette, bar, paint
from strukt.viz.canvas.width import clip, display_width, folded, pad, pad_left, printable
from strukt.viz.pictures.base import Picture

WIDE = 100.0
"""The scale is logarithmic if all numbers are positive, and the largest is at least `WIDE` times the smallest."""

_MARGIN, _TITLE, _HEIGHT, _GAP, _LINE, _STEP = 14.0, 30.0, 220.0, 16.0, 15.0, 44.0
_SERIF = 4.0  # half the width of the ends of error bars
_SHORTEST, _LONGEST = 6, 40  # bars in the terminal, in columns


@dataclass(frozen=True)
class Curves(Picture):
    """Named curves with a number for each place on the horizontal axis.

    Args:
        title: The title, which says what the numbers are.
        places: The names of the places on the horizontal axis, from left to right.
        curves: The numbers of each curve by its name, a number for each place.
        deviations: The standard deviations of the numbers, by the names of curves, drawn as error bars that reach
            one deviation up and one down. Curves that are not listed have none.

    Raises:
        ValueError: If a curve does not have one finite number for each place, or deviations do not have one finite
            non-negative number for each place of a curve.

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
    deviations: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := [name for name in self.deviations if name not in self.curves]:
            raise ValueError(f"deviations has {unknown[0]!r}; expected names of curves")
        self._check("curves", self.curves, -math.inf, "finite numbers")
        self._check("deviations", self.deviations, 0.0, "finite non-negative numbers")

    @property
    def is_logarithmic(self) -> bool:
        """True if the scale is logarithmic: all numbers are positive, the largest at least 100 times the smallest.

        The ends of error bars count as numbers.
        """
        every = self._every()
        return bool(every) and min(every) > 0 and max(every) / min(every) >= WIDE

    def heights(self) -> dict[str, list[float]]:
        """Return the position of each number between the smallest (0) and the largest (1).

        The positions are linear or logarithmic, as the scale is, and the ends of error bars count as numbers.
        """
        return {name: [self._height(value) for value in values] for name, values in self.curves.items()}

    def ticks(self) -> list[tuple[float, str]]:
        """Return the height and the text of each mark: the smallest number, the middle of the scale, the largest.

        Ends of error bars count as numbers. There are no marks without numbers.
        """
        every = self._every()
        if not every:
            return []
        low, high = min(every), max(every)
        middle = math.sqrt(low * high) if self.is_logarithmic else (low + high) / 2
        return [(self._height(value), f"{value:.3g}") for value in dict.fromkeys((low, middle, high))]

    def description(self) -> str:
        """Describe the numbers in words, for screen readers."""
        curves = []
        for name in self.curves:
            numbers = (f"{place} {number}" for place, number in zip(self.places, self.numbers(name), strict=True))
            curves.append(f"{name}: {', '.join(numbers)}")
        return f"{self.title}; {'; '.join(curves)}"

    def numbers(self, name: str) -> list[str]:
        """Return the numbers of the curve `name` as text, with their deviations."""
        numbers = [f"{value:.3g}" for value in self.curves[name]]
        if name not in self.deviations:
            return numbers
        pairs = zip(numbers, self.deviations[name], strict=True)
        return [f"{number} ± {deviation:.2g}" for number, deviation in pairs]

    def error_bars(self, name: str) -> list[tuple[float, float]]:
        """Return the heights of the two ends of each error bar of the curve `name`; empty without deviations."""
        pairs = zip(self.curves[name], self.deviations.get(name, ()), strict=False)
        return [(self._height(value - deviation), self._height(value + deviation)) for value, deviation in pairs]

    def _check(self, argument: str, numbers: Mapping[str, Sequence[float]], least: float, expected: str) -> None:
        """Raise ValueError unless there are numbers of at least `least` for all places."""
        for name, values in numbers.items():
            if len(values) != len(self.places):
                raise ValueError(
                    f"{argument} has {len(values)} numbers for {name!r}; expected {len(self.places)}"
                )
            for value in values:
                if not math.isfinite(value) or value < least:
                    raise OutOfRangeError(f"{argument} has {value} for {name!r}; expected {expected}")

    def _every(self) -> list[float]:
        """Return all numbers, and the ends of all error bars."""
        numbers = []
        for name, values in self.curves.items():
            deviations = self.deviations.get(name, [0.0] * len(values))
            for value, deviation in zip(values, deviations, strict=True):
                numbers += [value - deviation, value + deviation] if deviation else [value]
        return numbers

    def _height(self, value: float) -> float:
        """Return the position of a number between the smallest (0) and the largest (1); see `heights`."""
        every = self._every()
        low, high = min(every), max(every)
        if self.is_logarithmic:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low or 1.0)


def svg(curves: Curves) -> str:
    """Draw lines over the names of the places; the name of each curve is at its end."""
    return "\n".join(_elements(curves))


def _elements(curves: Curves) -> Iterator[str]:
    """Draw the picture, element by element."""
    step = max([_STEP, *(text_width(place, SMALL) + 10 for place in curves.places)])
    left = _MARGIN + max([0.0, *(text_width(tick, SMALL) for _, tick in curves.ticks())]) + _GAP
    right = left + step * max(len(curves.places) - 1, 0)
    names = max([0.0, *(text_width(name, SMALL) for name in curves.curves)])
    width = max(right + names + 2 * _GAP + _MARGIN, text_width(curves.title, FORM) + 2 * _MARGIN)
    bottom = _MARGIN + _TITLE + _HEIGHT
    yield opening(curves.title, curves.description(), width, bottom + 2 * _LINE + _MARGIN)
    yield text(width / 2, _MARGIN + 14, "title", curves.title)
    for height, tick in curves.ticks():
        y = bottom - _HEIGHT * height
        yield f'<path class="grid" d="M{left:.1f} {y:.1f} L{right:.1f} {y:.1f}"/>'
        yield text(left - _GAP / 2 - text_width(tick, SMALL) / 2, y + 4, "number", tick)
    for place, name in enumerate(curves.places):
        yield text(left + step * place, bottom + 1.5 * _LINE, "number", name)
    heights = curves.heights()
    beside = _apart([bottom - _HEIGHT * values[-1] for values in heights.values() if values])
    for index, (name, values) in enumerate(heights.items()):
        points = [(left + step * place, bottom - _HEIGHT * height) for place, height in enumerate(values)]
        style = f'stroke-dasharray="{_dashes(index)}"'
        if points:
            yield f'<path class="arc" {style} d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'
            yield text(right + _GAP + text_width(name, SMALL) / 2, beside[index] + 4, "label", name)
        yield from (f'<circle class="tip" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in points)
        for (x, _), ends in zip(points, curves.error_bars(name), strict=False):
            low, high = (bottom - _HEIGHT * end for end in ends)
            yield f'<path class="branch" d="{_error_bar(x, low, high)}"/>'
    yield "</svg>"


def _error_bar(x: float, low: float, high: float) -> str:
    """Return the path of a vertical line with a short horizontal line at both ends."""
    left, right = x - _SERIF, x + _SERIF
    return (
        f"M{x:.1f} {low:.1f} L{x:.1f} {high:.1f} M{left:.1f} {low:.1f} L{right:.1f} {low:.1f} "
        f"M{left:.1f} {high:.1f} L{right:.1f} {high:.1f}"
    )


def _dashes(index: int) -> str:
    """Return the dashes of a curve, which distinguish curves without colours."""
    return ("none", "7 4", "2 3", "9 3 2 3", "4 4 1 4")[index % 5]


def _apart(heights: list[float]) -> list[float]:
    """Return the heights of names next to the ends of their curves, at least a line apart."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    result = list(heights)
    for before, after in pairwise(order):
        result[after] = max(result[after], result[before] + _LINE)
    return result


def terminal(curves: Curves, width: int, palette: Palette) -> str:
    """Draw a line for each place, with a number and a bar for each curve; curves that do not fit follow below.

    Examples:
        >>> curves = Curves("error", ["1-5", "6-10"], {"with": [1.0, 2.0], "without": [2.5, 3.0]})
        >>> print(terminal(curves, 34, {}))
        error (bars from 1 to 3)
        <BLANKLINE>
              with          without
         1-5  1             2.5  ██████▊
        6-10  2  ████▌      3    █████████
    """
    places = [clip(place, width // 3) for place in curves.places]
    side = max(map(display_width, places), default=0)
    code = palette.get("label", "")
    names = [clip(name, width // 3) for name in curves.curves]
    numbers = [curves.numbers(name) for name in curves.curves]
    heights = list(curves.heights().values())
    digits = [max(map(display_width, column), default=0) for column in numbers]
    needed = [
        max(display_width(name), count + 2 + _SHORTEST) for name, count in zip(names, digits, strict=True)
    ]
    lines = [printable(curves.title) + _scale(curves)]
    for block in folded(needed, width - side - 2):
        free = width - side - sum(needed[curve] + 2 for curve in block)
        extra = min(free // len(block), _LONGEST - _SHORTEST)
        widths = [needed[curve] + extra for curve in block]
        header = (pad(names[curve], columns) for curve, columns in zip(block, widths, strict=True))
        lines += ["", paint("  ".join([" " * side, *header]).rstrip(), code)]
        for place, name in enumerate(places):
            cells = (
                pad(numbers[curve][place], digits[curve] + 2)
                + paint(pad(bar(heights[curve][place], _SHORTEST + extra), columns - digits[curve] - 2), code)
                for curve, columns in zip(block, widths, strict=True)
            )
            lines.append("  ".join([paint(pad_left(name, side), code), *cells]).rstrip())
    return "\n".join(lines)


def _scale(curves: Curves) -> str:
    """Return a note on the numbers that an empty bar and the longest bar stand for; empty without numbers."""
    ticks = [tick for _, tick in curves.ticks()]
    factors = ", in equal factors" if curves.is_logarithmic else ""
    return f" (bars from {ticks[0]} to {ticks[-1]}{factors})" if ticks else ""


def matplotlib(curves: Curves, axes: Any) -> None:
    """Draw lines with markers and error bars, and a legend if there are several curves."""
    for name, values in curves.curves.items():
        axes.errorbar(range(len(values)), values, curves.deviations.get(name), marker="o", capsize=3, label=name)
    axes.set_xticks(range(len(curves.places)), curves.places)
    axes.set_title(curves.title)
    if curves.is_logarithmic:
        axes.set_yscale("log")
    if len(curves.curves) > 1:
        axes.legend()
