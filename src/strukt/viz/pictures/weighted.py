"""Sets of structures with weights: the result of SparseMAP, the best few, or samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strukt.viz.canvas.svg import FORM, SMALL, opening, placed_below, size, text, text_width
from strukt.viz.canvas.terminal import Palette, bar, paint
from strukt.viz.canvas.width import printable
from strukt.viz.canvas.wording import sentences, shorten
from strukt.viz.pictures.base import Picture, renderer, require_probability
from strukt.viz.pictures.brackets.picture import BracketDiagram
from strukt.viz.pictures.dependency_tree.picture import Diagram
from strukt.viz.pictures.heat_map import HeatMap
from strukt.viz.pictures.overlay.picture import Overlay, overlay

_MARGIN, _TITLE, _CAPTION, _GAP, _BAR = 14.0, 30.0, 26.0, 12.0, 160.0
_COLUMNS = 30  # the longest bar in the terminal


@dataclass(frozen=True)
class WeightedStructures(Picture):
    r"""Pictures of structures with their weights, such as the result of SparseMAP, the k best, or samples.

    Args:
        pictures: The structures, the heaviest first.
        weights: The probabilities of the structures.
        title: The title; may be empty.
        others: The number of further structures, which have no pictures.
        rest: The total weight of the further structures.

    Raises:
        ValueError: If there is not one weight for each picture, a weight is not a probability, or `others` is
            negative.

    Examples:
        >>> from strukt.viz import Diagram
        >>> trees = [Diagram(["Dogs", "bark"], heads=heads) for heads in ([2, 0], [0, 1])]
        >>> structures = WeightedStructures(trees, [0.7, 0.2], others=3, rest=0.1)
        >>> print(structures.description().replace(" Weight", "\nWeight"))
        Weight 0.70: Dogs bark. Heads: Dogs below bark, bark root.
        Weight 0.20: Dogs bark. Heads: Dogs root, bark below Dogs. 3 more, weight .10 together.
    """

    pictures: Sequence[Diagram | BracketDiagram | HeatMap]
    weights: Sequence[float]
    title: str = ""
    others: int = 0
    rest: float = 0.0

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.pictures):
            raise ValueError(
                f"weights has {len(self.weights)} entries; expected {len(self.pictures)}, one for each picture"
            )
        for weight in self.weights:
            require_probability("weights", weight)
        require_probability("rest", self.rest)
        if self.others < 0:
            raise ValueError(f"others is {self.others}; expected 0 or more")

    @property
    def heading(self) -> str:
        """The title, or the kind of picture if there is none."""
        return self.title or "Weighted structures"

    def remark(self) -> str:
        """Return a remark on the structures that are not drawn; empty if there are none."""
        return f"{self.others} more, weight {shorten(self.rest)} together" if self.others else ""

    def together(self) -> Overlay | None:
        """Lay the heaviest structures over each other in one picture; None if there is nothing to compare."""
        return overlay(self.pictures, self.weights, self.others)

    def description(self) -> str:
        """Describe the structures in words, for screen readers."""
        texts = (
            f"Weight {weight:.2f}: {picture.description()}"
            for weight, picture in zip(self.weights, self.pictures, strict=True)
        )
        return sentences(self.title, *texts, self.remark())


def svg(structures: WeightedStructures) -> str:
    """Draw all structures in one picture if possible, then each below the last, under a bar for its weight."""
    rows, bottom = [], _MARGIN
    widest = _MARGIN + text_width(max(structures.title, structures.remark(), key=len), FORM)
    if structures.title:
        rows.append(_from_left(bottom + 14, "title", structures.title, FORM))
        bottom += _TITLE
    if (together := structures.together()) is not None:
        element = renderer(together, "svg")(together)
        rows += [
            _from_left(bottom + 14, "number", together.remark(), SMALL),
            placed_below(element, bottom + _CAPTION),
        ]
        width, height = size(element)
        widest = max(widest, width, 2 * _MARGIN + text_width(together.remark(), SMALL))
        bottom += _CAPTION + height + _GAP
    for weight, picture in zip(structures.weights, structures.pictures, strict=True):
        element = renderer(picture, "svg")(picture)
        rows += [*_caption(bottom, weight), placed_below(element, bottom + _CAPTION)]
        width, height = size(element)
        widest, bottom = max(widest, width), bottom + _CAPTION + height + _GAP
    if remark := structures.remark():
        rows.append(_from_left(bottom + 14, "number", remark, SMALL))
        bottom += _TITLE
    widest = max(widest, _BAR + 7 * _MARGIN)
    return "\n".join([opening(structures.heading, structures.description(), widest, bottom), *rows, "</svg>"])


def _caption(y: float, weight: float) -> Iterator[str]:
    """Draw a weight as a number and a bar, `y` pixels below the top."""
    number = f"weight {shorten(weight)}"
    yield _from_left(y + 14, "number", number, SMALL)
    left = 2 * _MARGIN + text_width(number, SMALL)
    yield f'<rect class="bar" x="{left:.1f}" y="{y + 5:.1f}" width="{_BAR * weight:.1f}" height="10"/>'


def _from_left(y: float, role: str, content: str, font: float) -> str:
    """Draw text that begins at the left margin."""
    return text(_MARGIN + text_width(content, font) / 2, y, role, content)


def terminal(structures: WeightedStructures, width: int, palette: Palette) -> str:
    """Draw the structures one below the other, each under a bar for its weight."""
    blocks = []
    for weight, picture in zip(structures.weights, structures.pictures, strict=True):
        number = f"weight {shorten(weight)}"
        drawn = paint(bar(weight, min(_COLUMNS, width - len(number) - 2)), palette.get("label", ""))
        element = renderer(picture, "terminal")(picture, width, palette)
        blocks.append(f"{number}  {drawn}".rstrip() + f"\n{element}")
    return "\n\n".join(filter(None, [printable(structures.title), *blocks, structures.remark()]))
