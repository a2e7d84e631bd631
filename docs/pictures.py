"""The pictures and the numbers of the page "One idea": `python docs/pictures.py` writes them anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from strukt import BinaryCRF

FOLDER = Path(__file__).parent / "concepts" / "images"

SCORES = torch.tensor([1.2, 0.8], dtype=torch.float64)
TOGETHER = torch.tensor([[0.0, -4.0], [-4.0, 0.0]], dtype=torch.float64)
STRUCTURES = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]])

ROOM, FLOOR = 180, 196
"""The width of a panel of bars, and where they stand."""

STYLE = """
svg { --ink: #1c2430; --quiet: #5b6672; --line: #8494a8; --net: #b9c4d2; --paper: #ffffff;
      --map: #b3261e; --marginals: #1f5fa8; --sparsemap: #00705a; --field: #8a4b9a; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e8ecf1; --quiet: #a3aebb; --line: #8191a8; --net: #435066; --paper: #14181e;
        --map: #ff9b8f; --marginals: #8fc1ff; --sparsemap: #5fd3b4; --field: #dba3e8; }
}
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; font-size: 15px;
       text-anchor: middle; fill: var(--ink); }
.paper { fill: var(--paper); } .quiet { fill: var(--quiet); font-size: 13px; } .name { font-weight: 600; }
.left { text-anchor: start; } .edge, .net, .lead { fill: none; stroke: var(--line); stroke-width: 1.6px; }
.net { stroke: var(--net); stroke-width: 1px; } .behind { stroke-dasharray: 7 5; } .corner { fill: var(--line); }
.lead { stroke-width: 1px; } .map { fill: var(--map); } .marginals { fill: var(--marginals); }
.sparsemap { fill: var(--sparsemap); } .field { fill: var(--field); }
.dot { stroke: var(--paper); stroke-width: 2px; }
"""


@dataclass(frozen=True)
class Answer:
    """What one operator answers.

    Attributes:
        name: Its name.
        role: Its class in the style sheet.
        weights: The probability of each of `STRUCTURES`.
        value: The maximum, score less regulariser.
    """

    name: str
    role: str
    weights: Tensor
    value: Tensor

    @property
    def mean(self) -> list[float]:
        """The expected parts: each variable, and both together."""
        both = STRUCTURES.prod(-1, keepdim=True)
        return (self.weights @ torch.cat([STRUCTURES, both], -1).double()).tolist()


def answers() -> list[Answer]:
    """The four operators on the same scores."""
    crf = BinaryCRF(SCORES, TOGETHER)
    sparse, field = crf.sparsemap(), crf.mean_field(500)
    best = (crf.mode == STRUCTURES).all(-1).double()
    carried = (STRUCTURES[:, None] == sparse.events).all(-1).double() @ sparse.weights
    product = torch.where(STRUCTURES == 1, field.marginals, 1 - field.marginals).prod(-1)
    nearest = carried @ crf.score(STRUCTURES) - 0.5 * sparse.marginals.square().sum()
    return [
        Answer("MAP", "map", best, crf.max_score),
        Answer("marginals", "marginals", crf.log_prob(STRUCTURES).exp(), crf.log_partition),
        Answer("SparseMAP", "sparsemap", carried, nearest),
        Answer("mean field", "field", product, field.lower_bound),
    ]


def table() -> str:
    """The rows of the table of numbers on the page."""
    rows = []
    for answer in answers():
        numbers = (_number(number, 3) for number in (*answer.mean, answer.value.item()))
        rows.append(" | ".join([answer.name, *numbers]))
    return "\n".join(f"| {row} |" for row in rows)


def weights() -> str:
    """How much weight each operator gives to each structure."""
    shapes = []
    for panel, answer in enumerate(answers()):
        left = ROOM * panel
        shapes.append(_text(left + ROOM / 2, 34, f"name {answer.role}", answer.name))
        shapes.append(_line("edge", (left + 16, FLOOR), (left + ROOM - 16, FLOOR)))
        shapes += _bars(answer, left + 36)
    shapes.append(_text(2 * ROOM, FLOOR + 44, "quiet", "the weight of each structure s₁s₂"))
    return _svg(4 * ROOM, FLOOR + 54, "The weights of the structures under each operator, as bars", shapes)


def _bars(answer: Answer, left: float) -> Iterator[str]:
    for bar, (structure, weight) in enumerate(zip(STRUCTURES, answer.weights.tolist(), strict=True)):
        x, tall = left + 36 * bar, 130 * weight
        place = f'x="{x - 13:.1f}" y="{FLOOR - tall:.1f}" width="26" height="{tall:.1f}"'
        yield f'<rect class="{answer.role}" {place}/>'
        yield _text(x, FLOOR - tall - 6, "quiet", _number(weight, 2))
        yield _text(x, FLOOR + 20, "", "".join(map(str, structure.tolist())))


def polytope() -> str:
    """The polytope of the four structures, the surface of products in it, and the four answers."""
    corners = [_place(first, second, first * second) for first, second in STRUCTURES.tolist()]
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in (corners[i] for i in (0, 1, 3, 2)))
    shapes = [_line("edge behind", corners[1], corners[2]), *_net()]
    shapes += [f'<polygon class="edge" points="{outline}"/>', _line("edge", corners[0], corners[3])]
    names = ("00: neither", "10: the first", "01: the second", "11: both")
    for (x, y), (dx, dy), name in zip(corners, ((0, 26), (-28, 28), (28, 28), (0, -14)), names, strict=True):
        shapes += [_dot("corner", x, y, 4), _text(x + dx, y + dy, "", name)]
    for answer, (dx, dy) in zip(answers(), ((-40, -52), (-68, 92), (-95, -150), (-90, 84)), strict=True):
        x, y = _place(*answer.mean)
        shapes.append(_line("lead", (x, y), (x + dx, y + dy)))
        shapes.append(_dot(f"dot {answer.role}", x, y, 7))
        shapes.append(_text(x + dx, y + dy + (16 if dy > 0 else -6), f"name {answer.role}", answer.name))
    return _svg(720, 430, "A tetrahedron with the four answers as points in it", shapes)


PICTURES = {"weights.svg": weights, "polytope.svg": polytope}


def _place(first: float, second: float, both: float) -> tuple[float, float]:
    """Where a point of the polytope is drawn: 00 is nearest to the reader, `both` is its height."""
    return 360 + 262 * (second - first) + 8 * both, 380 - 100 * (first + second) - 140 * both


def _net() -> Iterator[str]:
    """Lines of the surface on which both variables are independent; they are straight."""
    for step in range(1, 10):
        share = step / 10
        yield _line("net", _place(share, 0.0, 0.0), _place(share, 1.0, share))
        yield _line("net", _place(0.0, share, 0.0), _place(1.0, share, share))


def _dot(role: str, x: float, y: float, radius: int) -> str:
    return f'<circle class="{role}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _line(role: str, start: tuple[float, float], stop: tuple[float, float]) -> str:
    return f'<path class="{role}" d="M{start[0]:.1f} {start[1]:.1f} L{stop[0]:.1f} {stop[1]:.1f}"/>'


def _text(x: float, y: float, role: str, content: str) -> str:
    return f'<text class="{role}" x="{x:.1f}" y="{y:.1f}">{content}</text>'


def _number(value: float, digits: int) -> str:
    """Rounded; a plain 0 only where there is nothing."""
    return "0" if abs(value) < 1e-12 else f"{value:.{digits}f}"


def _svg(width: int, height: int, label: str, shapes: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">\n<style>{STYLE}</style>'
    )
    paper = f'<rect class="paper" width="{width}" height="{height}" rx="8"/>'
    return "\n".join([head, paper, *shapes, "</svg>\n"])


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
