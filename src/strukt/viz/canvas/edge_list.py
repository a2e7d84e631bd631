"""Weighted edges as a list, for graphs in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from strukt.viz.canvas.terminal import Palette, bar, paint
from strukt.viz.canvas.width import clip, display_width, pad, pad_left, printable

_BAR = 30


class Line(NamedTuple):
    """An edge of the list.

    Attributes:
        source: The name of its first node.
        mark: The character between the nodes.
        target: The name of its second node.
        weight: The weight, as text.
        share: The length of the bar, in [0, 1].
    """

    source: str
    mark: str
    target: str
    weight: str
    share: float


def edge_list(title: str, edges: Sequence[Line], width: int, palette: Palette) -> str:
    """Draw one edge per line, with its weight and a bar, below a title.

    Examples:
        >>> print(edge_list("Trade", [Line("a", "→", "bc", "0.5", 0.5)], 20, {}))
        Trade
        <BLANKLINE>
        a → bc  0.5  ███▌
    """
    clipped = [
        edge._replace(source=clip(edge.source, width // 3), target=clip(edge.target, width // 3))
        for edge in edges
    ]
    source = max((display_width(edge.source) for edge in clipped), default=0)
    target = max((display_width(edge.target) for edge in clipped), default=0)
    number = max((len(edge.weight) for edge in clipped), default=0)
    longest = min(_BAR, width - source - target - number - 7)
    code = palette.get("label", "")
    lines = [printable(title), ""]
    for edge in clipped:
        nodes = f"{pad_left(edge.source, source)} {edge.mark} {pad(edge.target, target)}"
        drawn = paint(bar(edge.share, max(longest, 0)), code)
        lines.append(f"{nodes}  {edge.weight:>{number}}  {drawn}".rstrip())
    return "\n".join(lines)
