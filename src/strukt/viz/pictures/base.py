"""The base class of pictures, and the search for the function that draws one on a canvas."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal

from strukt.errors import OutOfRangeError
from strukt.shown import Shown

Canvas = Literal["svg", "terminal", "matplotlib"]
"""The names of canvases, which are also those of the functions that draw on them."""


class Picture(Shown, ABC):
    """Base class of all pictures: data that can be drawn as SVG, in the terminal or with matplotlib.

    A subclass holds the data and implements `description`. Its module also holds some of the functions
    `svg(picture)`, `terminal(picture, width, palette)` and `matplotlib(picture, axes)`, one for each canvas that
    it supports. If the module is named `picture`, each function is in a module beside it, which has the name of
    the function.

    Examples:
        >>> from strukt.viz import Diagram
        >>> isinstance(Diagram(["Dogs"]), Picture)
        True
    """

    @abstractmethod
    def description(self) -> str:
        """Describe the picture in words, for screen readers."""


def require_probability(name: str, value: float) -> None:
    """Raise OutOfRangeError unless a value is a probability, up to rounding errors."""
    if not -1e-4 <= value <= 1 + 1e-4:
        raise OutOfRangeError(f"{name} has {value}; expected probabilities, between 0 and 1")


def renderer(diagram: Picture, canvas: Canvas) -> Callable[..., Any]:
    """Return the function that draws a picture on a canvas: the one next to its class with the canvas's name.

    Args:
        diagram: The picture.
        canvas: The name of the canvas.

    Raises:
        TypeError: If there is no such function, or `diagram` is not a picture.

    Examples:
        >>> from strukt.viz import Curves, Diagram
        >>> renderer(Curves("error", [], {}), "svg").__module__
        'strukt.viz.pictures.curves'
        >>> renderer(Diagram(["Dogs"]), "svg").__module__
        'strukt.viz.pictures.dependency_tree.svg'
    """
    kind = type(diagram)
    home = _home(kind, canvas) if isinstance(diagram, Picture) else None
    drawer: Callable[..., Any] | None = getattr(home, canvas, None)
    if drawer is None:
        raise TypeError(
            f"diagram is of type {kind.__name__}; expected a picture with a function {canvas!r}, such as a Diagram"
        )
    return drawer


def _home(kind: type[Picture], canvas: Canvas) -> ModuleType | None:
    """Return the module that should hold the function for a canvas; None if it does not exist."""
    folder, _, file = kind.__module__.rpartition(".")
    if file != "picture":
        return sys.modules[kind.__module__]
    name = f"{folder}.{canvas}"
    return import_module(name) if find_spec(name) else None
