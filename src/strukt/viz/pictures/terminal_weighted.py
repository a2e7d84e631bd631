"""Sets of weighted structures in a terminal: each under a bar that is as long as it is heavy."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.viz.canvas.blocks import bar
from strukt.viz.canvas.terminal import Palette, paint
from strukt.viz.canvas.width import printable
from strukt.viz.pictures.arcs.listing import shorten
from strukt.viz.pictures.weighted import WeightedStructures

_BAR = 30


def draw(found: WeightedStructures, pictures: Sequence[str], width: int, palette: Palette) -> str:
    """The picture for `strukt.viz.terminal.draw`.

    Args:
        found: The structures.
        pictures: The picture of each.
        width: The columns of the terminal.
        palette: Terminal codes per role.
    """
    blocks = []
    for weight, picture in zip(found.weights, pictures, strict=True):
        said = f"weight {shorten(weight)}"
        drawn = paint(bar(weight, min(_BAR, width - len(said) - 2)), palette.get("label", ""))
        blocks.append(f"{said}  {drawn}".rstrip() + f"\n{picture}")
    return "\n\n".join(filter(None, [printable(found.title), *blocks, found.remark()]))
