"""Curves and tables in matplotlib, for papers and notebooks that have a style of their own."""

from __future__ import annotations

from typing import Any

from strukt.errors import MissingExtraError
from strukt.viz.pictures.base import Picture, renderer
from strukt.viz.pictures.curves import Curves
from strukt.viz.pictures.heat_map import HeatMap


def plot_curves(curves: Curves, axes: Any = None) -> Any:
    """Draw curves on matplotlib axes, with a logarithmic scale if the numbers are far apart.

    Args:
        curves: The curves, for example scores during a training run, or errors by sentence length.
        axes: The axes to draw on; new axes if None.

    Returns:
        The axes, for titles, limits and files: ``axes.figure.savefig("errors.pdf")``.

    Raises:
        MissingExtraError: If `axes` is None, and matplotlib is not installed.

    Examples:
        >>> from strukt.viz import Curves
        >>> curves = Curves("error", ["1-5", "6-10"], {"with": [1.0, 2.0], "without": [2.0, 300.0]})
        >>> axes = plot_curves(curves)  # doctest: +SKIP
        >>> axes.get_title(), axes.get_yscale()  # doctest: +SKIP
        ('error', 'log')
    """
    return _plot(curves, axes)


def plot_heat_map(heat_map: HeatMap, axes: Any = None) -> Any:
    """Draw a table of numbers on matplotlib axes.

    Args:
        heat_map: The table, for example an alignment.
        axes: The axes to draw on; new axes if None.

    Returns:
        The axes, for titles and files.

    Raises:
        MissingExtraError: If `axes` is None, and matplotlib is not installed.

    Examples:
        >>> from strukt.viz import HeatMap
        >>> axes = plot_heat_map(HeatMap("Attention", ["a"], ["b", "c"], [[0.25, 0.75]]))  # doctest: +SKIP
        >>> axes.figure.savefig("attention.pdf")  # doctest: +SKIP
    """
    return _plot(heat_map, axes)


def _plot(picture: Picture, axes: Any) -> Any:
    axes = _new_axes() if axes is None else axes
    renderer(picture, "matplotlib")(picture, axes)
    return axes


def _new_axes() -> Any:
    """Return the axes of a new figure; raise MissingExtraError without matplotlib."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    return pyplot.subplots()[1]
