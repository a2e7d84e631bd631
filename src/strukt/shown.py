"""Pictures of results in notebooks; the code that draws them is imported only when a notebook asks for one."""

from __future__ import annotations

from importlib import import_module

DRAWER = "strukt.viz.notebook"
"""The module that draws, given by name so that nothing below `strukt.viz` imports it."""


class Shown:
    """Mix-in that lets Jupyter and similar notebooks draw a value as SVG.

    The value must be of a type that `strukt.viz.notebook.svg_of` draws.
    """

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """Return the picture as a standalone SVG document, or None to have the notebook show the text instead."""
        drawn: str | None = import_module(DRAWER).svg_of(self)
        return drawn
