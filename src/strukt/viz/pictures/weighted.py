"""A set of structures with their weights: what SparseMAP reads, the best few, samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strukt.shown import Shown
from strukt.viz.canvas.wording import sentences
from strukt.viz.pictures.arcs.listing import shorten
from strukt.viz.pictures.arcs.picture import Diagram
from strukt.viz.pictures.brackets.picture import BracketDiagram
from strukt.viz.pictures.heat_map import HeatMap


@dataclass(frozen=True)
class WeightedStructures(Shown):
    r"""Pictures of structures, one for each, with their weights.

    Args:
        pictures: The structures, the heaviest first.
        weights: Their weights, probabilities.
        title: What they are of; may be empty.
        others: How many more there are that are not drawn.
        rest: The weight of these together.

    Raises:
        ValueError: There is not one weight for each picture, or one is no probability.

    Examples:
        >>> trees = [Diagram(["Dogs", "bark"], heads=heads) for heads in ([2, 0], [0, 1])]
        >>> found = WeightedStructures(trees, [0.7, 0.2], others=3, rest=0.1)
        >>> print(found.description().replace(" Weight", "\nWeight"))
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
                f"weights: got {len(self.weights)}, expected {len(self.pictures)}, one for each picture"
            )
        for weight in (*self.weights, self.rest):
            if not -1e-6 <= weight <= 1 + 1e-4:
                raise ValueError(f"weights: got {weight}, expected probabilities, between 0 and 1")

    @property
    def heading(self) -> str:
        """The title; what kind of picture it is, if it has none."""
        return self.title or "Weighted structures"

    def remark(self) -> str:
        """What there is beside the pictures; empty if there is nothing."""
        return f"{self.others} more, weight {shorten(self.rest)} together" if self.others else ""

    def description(self) -> str:
        """The structures in words, for those who do not see them."""
        said = (
            f"Weight {weight:.2f}: {picture.description()}"
            for weight, picture in zip(self.weights, self.pictures, strict=True)
        )
        return sentences(self.title, *said, self.remark())
