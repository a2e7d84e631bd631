"""Lattices in a terminal: the tags of each word, and between two words the steps from tag to tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strukt.viz.canvas.blocks import shade
from strukt.viz.canvas.terminal import Palette, paint
from strukt.viz.canvas.width import clip, display_width, pad, printable
from strukt.viz.pictures.arcs.listing import folded, shorten
from strukt.viz.pictures.lattice import LEAST, Lattice


def draw(lattice: Lattice, width: int, palette: Palette) -> str:
    """The picture for `strukt.viz.terminal.draw`: the most probable tags and steps first.

    Examples:
        >>> lattice = Lattice(["a", "bc"], ["X", "Y"], [[0.9, 0.1], [0.2, 0.8]], [[[0.2, 0.7], [0.0, 0.1]]])
        >>> print(draw(lattice, 80, {}))
        a   █ X .90  ░ Y .10
        │   X → Y .70  X → X .20  Y → Y .10
        bc  █ Y .80  ░ X .20
    """
    forms = [clip(form, width // 3) for form in lattice.forms]
    side = max(map(display_width, forms), default=0)
    steps: dict[int, list[tuple[float, str]]] = {}
    for step in lattice.steps():
        before, after = lattice.tags[step.before], lattice.tags[step.after]
        said = f"{before} → {after} {shorten(step.probability)}"
        steps.setdefault(step.word, []).append((step.probability, said))
    lines = [printable(lattice.title)] if lattice.title else []
    for word, (form, row) in enumerate(zip(forms, lattice.marginals, strict=True)):
        tags = [
            (p, f"{shade(p)} {lattice.tags[tag]} {shorten(p)}") for tag, p in enumerate(row) if p >= LEAST
        ]
        lines += _block(
            form, "│" if word + 1 < len(forms) else "", _sorted(tags), side, width, palette, "tag"
        )
        lines += _block("│", "│", _sorted(steps.get(word, [])), side, width, palette, "probability")
    return "\n".join(lines)


def _sorted(items: Sequence[tuple[float, str]]) -> list[str]:
    return [text for _, text in sorted(items, key=lambda item: -item[0])]


def _block(
    first: str, others: str, items: Sequence[str], side: int, width: int, palette: Palette, role: str
) -> Iterator[str]:
    """Items beside a word, in as many lines as they need."""
    for number, places in enumerate(folded([display_width(item) for item in items], width - side - 2)):
        name = pad(others if number else first, side)
        shown = printable("  ".join(items[place] for place in places))
        line = f"{paint(name, palette.get('form', ''))}  {paint(shown, palette.get(role, ''))}"
        yield line.rstrip()
