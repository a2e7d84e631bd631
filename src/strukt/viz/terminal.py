"""Sentences drawn with box characters: arcs above the words or brackets over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from strukt.viz import terminal_arcs, terminal_brackets
from strukt.viz.brackets import BracketDiagram
from strukt.viz.canvas import PLAIN, Palette
from strukt.viz.diagram import Diagram

AnyDiagram = Diagram | BracketDiagram
"""A sentence and what is to be drawn of it."""

_DRAWERS: Mapping[type, Callable[..., str]] = {
    Diagram: terminal_arcs.draw,
    BracketDiagram: terminal_brackets.draw,
}


def draw(diagram: AnyDiagram, width: int = 80, palette: Palette = PLAIN) -> str:
    """A picture of a sentence that fits a terminal.

    Dependency trees that are wider than the terminal are drawn with one word a line, constituency trees with one
    constituent a line; tagged words are folded.

    Args:
        diagram: The sentence and what is known about it.
        width: The columns of the terminal.
        palette: Terminal codes per role, `canvas.PLAIN` or `canvas.COLOURED`.

    Returns:
        Lines without a newline at the end; empty for a sentence without words.

    Raises:
        TypeError: If there is no drawing of such a thing.

    Examples:
        >>> print(draw(Diagram(["Dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])))
               root
         ╭nsubj╮│
         ▼     │▼
        Dogs   bark
        NOUN   VERB
    """
    drawer = _DRAWERS.get(type(diagram))
    if drawer is None:
        names = " or ".join(kind.__name__ for kind in _DRAWERS)
        raise TypeError(f"diagram: got a {type(diagram).__name__}, expected a {names}")
    return drawer(diagram, width, palette)
