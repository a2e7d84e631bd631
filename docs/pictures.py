"""The pictures and numbers of the page "One idea"; `python docs/pictures.py` redraws the pictures of all pages.

Pictures of trained models are not among them: their pages show the command that draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import gallery
import guide_pictures
import kernel_pictures
import recorded_pictures
import system_pictures
import torch
from shapes import dot, line, number, svg, text
from torch import Tensor

from strukt import BinaryCRF

DOCS = Path(__file__).parent

SCORES = torch.tensor([1.2, 0.8], dtype=torch.float64)
TOGETHER = torch.tensor([[0.0, -4.0], [-4.0, 0.0]], dtype=torch.float64)
STRUCTURES = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]])

PANEL, FLOOR = 180, 196
"""The width of a panel of bars, and the y coordinate of their lower ends, in pixels."""


@dataclass(frozen=True)
class Result:
    """The result of one operator.

    Attributes:
        name: Its name.
        role: Its class in the style sheet.
        weights: The probability of each of `STRUCTURES`.
        value: The maximum of the objective: expected score minus regulariser.
    """

    name: str
    role: str
    weights: Tensor
    value: Tensor

    @property
    def mean(self) -> list[float]:
        """The probabilities of the parts: that each variable is 1, and that both are."""
        both = STRUCTURES.prod(-1, keepdim=True)
        return (self.weights @ torch.cat([STRUCTURES, both], -1).double()).tolist()


def results() -> list[Result]:
    """Return the results of four operators on the same scores."""
    crf = BinaryCRF(SCORES, TOGETHER)
    sparse, field = crf.sparsemap(), crf.mean_field(500)
    best = (crf.mode == STRUCTURES).all(-1).double()
    carried = (STRUCTURES[:, None] == sparse.events).all(-1).double() @ sparse.weights
    product = torch.where(STRUCTURES == 1, field.marginals, 1 - field.marginals).prod(-1)
    nearest = carried @ crf.score(STRUCTURES) - 0.5 * sparse.marginals.square().sum()
    return [
        Result("MAP", "map", best, crf.max_score),
        Result("marginals", "marginals", crf.log_prob(STRUCTURES).exp(), crf.log_partition),
        Result("SparseMAP", "sparsemap", carried, nearest),
        Result("mean field", "field", product, field.lower_bound),
    ]


def table() -> str:
    """Return the rows of the table of numbers on the page."""
    rows = []
    for result in results():
        numbers = (number(value, 3) for value in (*result.mean, result.value.item()))
        rows.append(" | ".join([result.name, *numbers]))
    return "\n".join(f"| {row} |" for row in rows)


def weights() -> str:
    """Draw the weight that each operator gives to each structure."""
    shapes = []
    for panel, result in enumerate(results()):
        left = PANEL * panel
        shapes.append(text(left + PANEL / 2, 34, f"name {result.role}", result.name))
        shapes.append(line("edge", (left + 16, FLOOR), (left + PANEL - 16, FLOOR)))
        shapes += _bars(result, left + 36)
    shapes.append(text(2 * PANEL, FLOOR + 44, "quiet", "the weight of each structure s₁s₂"))
    return svg(4 * PANEL, FLOOR + 54, "The weights of the structures under each operator, as bars", shapes)


def _bars(result: Result, left: float) -> Iterator[str]:
    """Draw a bar for each structure, with its weight above and its values below; the first one is at `left`."""
    for bar, (structure, weight) in enumerate(zip(STRUCTURES, result.weights.tolist(), strict=True)):
        x, tall = left + 36 * bar, 130 * weight
        place = f'x="{x - 13:.1f}" y="{FLOOR - tall:.1f}" width="26" height="{tall:.1f}"'
        yield f'<rect class="{result.role}" {place}/>'
        yield text(x, FLOOR - tall - 6, "quiet", number(weight, 2))
        yield text(x, FLOOR + 20, "", "".join(map(str, structure.tolist())))


def polytope() -> str:
    """Draw the polytope of the four structures, the surface of products in it, and the four results."""
    corners = [_place(first, second, first * second) for first, second in STRUCTURES.tolist()]
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in (corners[i] for i in (0, 1, 3, 2)))
    shapes = [line("edge behind", corners[1], corners[2]), *_net()]
    shapes += [f'<polygon class="edge" points="{outline}"/>', line("edge", corners[0], corners[3])]
    names = ("00: neither", "10: the first", "01: the second", "11: both")
    for (x, y), (dx, dy), name in zip(corners, ((0, 26), (-28, 28), (28, 28), (0, -14)), names, strict=True):
        shapes += [dot("corner", x, y, 4), text(x + dx, y + dy, "", name)]
    for result, (dx, dy) in zip(results(), ((-40, -52), (-68, 92), (-95, -150), (-90, 84)), strict=True):
        x, y = _place(*result.mean)
        shapes.append(line("lead", (x, y), (x + dx, y + dy)))
        shapes.append(dot(f"dot {result.role}", x, y, 7))
        shapes.append(text(x + dx, y + dy + (16 if dy > 0 else -6), f"name {result.role}", result.name))
    return svg(720, 430, "A tetrahedron with the four results as points in it", shapes)


PICTURES = {"weights.svg": weights, "polytope.svg": polytope}


def _place(first: float, second: float, both: float) -> tuple[float, float]:
    """Return the place of a point of the polytope in the picture: 00 is at the front, and `both` is the height."""
    return 360 + 262 * (second - first) + 8 * both, 380 - 100 * (first + second) - 140 * both


def _net() -> Iterator[str]:
    """Draw straight lines in the surface on which the two variables are independent."""
    for step in range(1, 10):
        share = step / 10
        yield line("net", _place(share, 0.0, 0.0), _place(share, 1.0, share))
        yield line("net", _place(0.0, share, 0.0), _place(1.0, share, share))


def every() -> dict[Path, Callable[[], str]]:
    """Return the function that draws each file."""
    folders = {
        "concepts": PICTURES | gallery.PICTURES,
        "guides": guide_pictures.PICTURES,
        "recipes": recorded_pictures.PICTURES,
        "": kernel_pictures.PICTURES | system_pictures.PICTURES,
    }
    return {
        DOCS / folder / "images" / name: draw
        for folder, drawn in folders.items()
        for name, draw in drawn.items()
    }


if __name__ == "__main__":
    for path, draw in every().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(draw(), encoding="utf-8")
