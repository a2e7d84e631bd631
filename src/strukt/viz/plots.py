"""Curves and tables drawn by matplotlib, for papers and notebooks that have their own style."""

from __future__ import annotations

from typing import Any

from strukt.errors import MissingExtraError
from strukt.viz.pictures.curves import Curves
from strukt.viz.pictures.heat_map import HeatMap


def plot_curves(curves: Curves, axes: Any = None) -> Any:
    """Draws curves into axes of matplotlib, on a logarithmic scale where numbers are far apart.

    Args:
        curves: What is to be seen, such as the scores of a training or errors by length.
        axes: Where to; new ones if None.

    Returns:
        The axes, for titles, limits and files: ``axes.figure.savefig("errors.pdf")``.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    axes = _axes() if axes is None else axes
    for name, values in curves.curves.items():
        axes.plot(range(len(values)), values, marker="o", label=name)
    axes.set_xticks(range(len(curves.places)), curves.places)
    axes.set_title(curves.title)
    if curves.is_logarithmic:
        axes.set_yscale("log")
    if len(curves.curves) > 1:
        axes.legend()
    return axes


def plot_heat_map(heat_map: HeatMap, axes: Any = None) -> Any:
    """Draws a table of numbers into axes of matplotlib.

    Args:
        heat_map: What is to be seen, such as an alignment.
        axes: Where to; new ones if None.

    Returns:
        The axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    axes = _axes() if axes is None else axes
    axes.imshow(heat_map.values, cmap="Blues")
    axes.set_xticks(range(len(heat_map.columns)), heat_map.columns)
    axes.set_yticks(range(len(heat_map.rows)), heat_map.rows)
    axes.set_title(heat_map.title)
    for row, numbers in enumerate(heat_map.numbers()):
        for column, number in enumerate(numbers):
            axes.text(column, row, number, ha="center", va="center")
    return axes


def _axes() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    return pyplot.subplots()[1]
