"""Pictures in the terminal, and files that are written."""

from __future__ import annotations

import shutil
import sys

from strukt.cli import console
from strukt.viz import svg, terminal
from strukt.viz.canvas.terminal import COLOURED, PLAIN

PAGE, PICTURE = (".html", ".htm"), (".svg",)
"""How the names of pages and of pictures end."""


def draw(picture: svg.Picture) -> None:
    """Prints a picture that fits the terminal, in colour if it shows colours."""
    palette = COLOURED if console.use_colour(sys.stdout) else PLAIN
    print(terminal.draw(picture, shutil.get_terminal_size((100, 24)).columns, palette))


def write(path: str, content: str) -> None:
    """Writes a file whole or not at all, and says so."""
    from strukt.data.files import atomic_write

    with atomic_write(path) as stream:
        stream.write(content)
    console.message(f"wrote {path}")
