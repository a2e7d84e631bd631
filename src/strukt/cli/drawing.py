"""Pictures in the terminal, and files that are written."""

from __future__ import annotations

import shutil
import sys

from strukt.cli import console
from strukt.cli.table import table
from strukt.viz import canvas, svg, terminal
from strukt.viz.curves import Curves
from strukt.viz.diagram import Diagram
from strukt.viz.graph import Graph
from strukt.viz.heat_map import HeatMap
from strukt.viz.lattice import Lattice


def draw(picture: svg.Picture) -> None:
    """Prints a picture that fits the terminal, in colour if it shows colours; of tables and graphs the numbers."""
    if isinstance(picture, Graph):
        rows = [
            [picture.names[edge.source], picture.names[edge.target], f"{edge.weight:.2f}"]
            for edge in picture.edges()
        ]
        print(f"{picture.title}\n\n{table([['from', 'to', ''], *rows])}")
        return
    if isinstance(picture, HeatMap):
        rows = [[row, *numbers] for row, numbers in zip(picture.rows, picture.numbers(), strict=True)]
        print(f"{picture.title}\n\n{table([['', *picture.columns], *rows])}")
        return
    if isinstance(picture, Lattice):
        rows = [
            [form, *(f"{row[tag]:.2f}" for tag in picture.used())]
            for form, row in zip(picture.forms, picture.marginals, strict=True)
        ]
        names = [picture.tags[tag] for tag in picture.used()]
        print(table([["", *names], *rows]))
        return
    if isinstance(picture, Curves):
        rows = [[name, *(f"{value:.3g}" for value in values)] for name, values in picture.curves.items()]
        print(f"{picture.title}\n\n{table([['', *picture.places], *rows])}")
        return
    if isinstance(picture, Diagram) and picture.title:
        print(picture.title)
    palette = canvas.COLOURED if console.use_colour(sys.stdout) else canvas.PLAIN
    print(terminal.draw(picture, shutil.get_terminal_size((100, 24)).columns, palette))


def write(path: str, content: str) -> None:
    """Writes a file whole or not at all, and says so."""
    from strukt.data.files import atomic_write

    with atomic_write(path) as stream:
        stream.write(content)
    console.message(f"wrote {path}")
