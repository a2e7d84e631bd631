"""Pictures in the terminal, with box-drawing and block characters."""

from __future__ import annotations

from strukt.viz.canvas.terminal import PLAIN, Palette
from strukt.viz.pictures.base import Picture, renderer


def draw(diagram: Picture, width: int = 80, palette: Palette = PLAIN) -> str:
    """Draw a picture that fits the terminal.

    A dependency tree that is too wide is drawn with one word per line, and a constituency tree with one
    constituent per line. Words with tags, and the columns of tables, continue below. Graphs are drawn as lists of
    their edges.

    Args:
        diagram: The picture.
        width: The number of columns of the terminal.
        palette: Terminal codes by role: `PLAIN` or `COLOURED` of `strukt.viz.canvas.terminal`.

    Returns:
        Lines without a newline at the end; an empty string for a sentence without words.

    Raises:
        TypeError: If `diagram` is not a picture or cannot be drawn in the terminal.

    Examples:
        >>> from strukt.viz import Diagram
        >>> print(draw(Diagram(["Dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"])))
               root
         ╭nsubj╮│
         ▼     │▼
        Dogs   bark
        NOUN   VERB
    """
    drawing: str = renderer(diagram, "terminal")(diagram, width, palette)
    return drawing
