"""Named nodes on a circle, for graphs as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from strukt.viz.canvas.svg import FORM, SMALL, text, text_width

LOOP = 9.0
"""The radius of an edge from a node to itself."""

NODE = 5.0
"""The radius of a node."""

Point = tuple[float, float]

_MARGIN, _TITLE, _GAP = 14.0, 26.0, 30.0


class Circle:
    """The positions of nodes, in pixels: clockwise from the top, below a title.

    Args:
        title: The title of the picture.
        names: The names of the nodes.
    """

    def __init__(self, title: str, names: Sequence[str]) -> None:
        self.title = title
        self.names = names
        self.radius = max(70.0, _GAP * len(names) / math.tau * 1.6)
        side = max((text_width(name, SMALL) for name in names), default=0.0) + 4 * LOOP
        self.width = max(2 * (_MARGIN + side + self.radius), text_width(title, FORM) + 2 * _MARGIN)
        self.centre: Point = self.width / 2, 2 * _MARGIN + _TITLE + 3 * LOOP + self.radius
        self.height = self.centre[1] + self.radius + 3 * LOOP + _MARGIN

    def place(self, node: int, further: float = 0.0) -> Point:
        """Return the position of a node, or a point `further` pixels outwards."""
        across, down = self._direction(node)
        radius = self.radius + further
        return self.centre[0] + radius * across, self.centre[1] + radius * down

    def _direction(self, node: int) -> Point:
        """Return the unit vector from the centre to a node; the second coordinate points downwards."""
        angle = math.tau * node / max(len(self.names), 1) - math.pi / 2
        return math.cos(angle), math.sin(angle)

    def heading(self) -> str:
        """Draw the title."""
        return text(self.width / 2, _MARGIN + 14, "title", self.title)

    def nodes(self) -> Iterator[str]:
        """Draw the nodes and their names."""
        for node, name in enumerate(self.names):
            (x, y), away = self.place(node), self._direction(node)
            yield f'<circle class="tip" cx="{x:.1f}" cy="{y:.1f}" r="{NODE:.1f}"/>'
            aside = text_width(name, SMALL) / 2 + 3 * LOOP
            yield text(x + away[0] * aside, y + away[1] * 3 * LOOP + 4, "label", name)
