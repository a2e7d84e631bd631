"""Interactions as SVG: nodes on a circle with lines between them, broken ones against, heavy ones in the tree."""

from __future__ import annotations

from collections.abc import Iterator

from strukt.viz.canvas.circle import Circle
from strukt.viz.canvas.svg import SMALL, faint, opening, text, text_width
from strukt.viz.pictures.interactions import Interaction, Interactions


def draw(graph: Interactions) -> str:
    """The picture for `strukt.viz.svg.draw`."""
    return "\n".join(_elements(graph))


def _elements(graph: Interactions) -> Iterator[str]:
    circle = Circle(graph.title, graph.names)
    yield opening(graph.title, graph.description(), circle.width, circle.height)
    yield circle.heading()
    edges = graph.edges()
    for edge in sorted(edges, key=lambda edge: edge.in_tree):  # the tree lies above
        yield _line(edge, circle, graph.share(edge))
    for edge in edges:
        if edge.in_tree:
            yield from _number(edge, circle)
    yield from circle.nodes()
    yield "</svg>"


def _line(edge: Interaction, circle: Circle, share: float) -> str:
    (x1, y1), (x2, y2) = circle.place(edge.first), circle.place(edge.second)
    role = "tree" if edge.in_tree else "arc"
    broken = ' stroke-dasharray="5 4"' if edge.weight < 0 else ""
    lightness = "" if edge.in_tree else faint(share)
    return f'<path class="{role}" d="M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}"{broken}{lightness}/>'


def _number(edge: Interaction, circle: Circle) -> Iterator[str]:
    """The weight, in the middle of its line."""
    (x1, y1), (x2, y2) = circle.place(edge.first), circle.place(edge.second)
    x, y, number = (x1 + x2) / 2, (y1 + y2) / 2, f"{edge.weight:.2f}"
    room = text_width(number, SMALL) + 4
    yield f'<rect class="gap" x="{x - room / 2:.1f}" y="{y - 7:.1f}" width="{room:.1f}" height="14"/>'
    yield text(x, y + 4, "number", number)
