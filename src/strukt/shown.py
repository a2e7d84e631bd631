"""Results show themselves as pictures in notebooks, though what draws them stands far above them in the house."""

from __future__ import annotations

from importlib import import_module

DRAWER = "strukt.viz.notebook"
"""The module that draws; it is named here and imported where a notebook asks: nothing below depends on it."""


class Shown:
    """What Jupyter and its like draw as SVG where it is the value of a cell."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """The picture as a file by itself; None if there is none, then the text of the object is shown."""
        drawn: str | None = import_module(DRAWER).svg_of(self)
        return drawn
