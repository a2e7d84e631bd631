"""Pictures in the terminal, and the suffixes of files with pictures."""

from __future__ import annotations

import shutil
import sys

from strukt.cli import console
from strukt.viz import svg, terminal
from strukt.viz.canvas.terminal import COLOURED, PLAIN

PAGE, PICTURE = (".html", ".htm"), (".svg",)
"""Permitted suffixes of HTML pages, and of pictures in SVG."""


def draw(picture: svg.Picture) -> None:
    """Print a picture, at most as wide as the terminal, and in colour if the terminal has colours."""
    palette = COLOURED if console.use_colour(sys.stdout) else PLAIN
    print(terminal.draw(picture, shutil.get_terminal_size((100, 24)).columns, palette))
