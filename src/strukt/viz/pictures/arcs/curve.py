"""One arc of a tree as SVG, and where the words stand so that all arcs have room."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from strukt.viz.canvas.svg import SMALL, label, text_width
from strukt.viz.pictures.arcs.picture import Arc

LEVEL, LINE, LEG, MARGIN, GAP = 34.0, 19.0, 8.0, 14.0, 22.0
"""The heights of a level and of a line below the words; the room between two arcs at a word, around, between."""

BENDS = 28.0
"""The room that the two bends of an arc need."""

_FOOT = 22.0  # how far above the words arcs end


def centres(blocks: Sequence[float], arcs: Mapping[Arc, float]) -> tuple[list[float], float]:
    """The middle of each word, and the width of the picture.

    Args:
        blocks: The room that each word needs.
        arcs: The room that each arc needs between the middles of its words.
    """
    ending: list[list[Arc]] = [[] for _ in blocks]
    for arc in arcs:
        ending[arc.right].append(arc)
    found: list[float] = []
    end = MARGIN
    for block, here in zip(blocks, ending, strict=True):
        centre = max([end + block / 2, *(found[arc.left] + arcs[arc] for arc in here)])
        found.append(centre)
        end = centre + block / 2 + GAP
    return found, end - GAP + MARGIN if found else 2 * MARGIN


def curve(
    arc: Arc, start: float, stop: float, baseline: float, more: str = "", number: str = ""
) -> Iterator[str]:
    """An arc between two words, with its tip and its label.

    Args:
        arc: Which one.
        start: Where it leaves its head.
        stop: Where it enters its dependent.
        baseline: Where the words stand.
        more: Attributes of the line.
        number: What stands behind the label, in place of the probability.
    """
    foot = baseline - _FOOT
    top = foot - LEVEL * (arc.level - 0.25)
    bend = math.copysign(min(abs(stop - start) / 2, 14.0 + 5.0 * arc.level), stop - start)
    rise = f"M{start:.1f} {foot:.1f} Q{start:.1f} {top:.1f} {start + bend:.1f} {top:.1f}"
    fall = f"L{stop - bend:.1f} {top:.1f} Q{stop:.1f} {top:.1f} {stop:.1f} {foot - 6:.1f}"
    yield f'<path class="arc" d="{rise} {fall}"{more}/>'
    yield _tip(stop, foot)
    if room := label_width(arc, number):
        x = (start + stop - room) / 2 - 2
        yield f'<rect class="gap" x="{x:.1f}" y="{top - 7:.1f}" width="{room + 4:.1f}" height="14"/>'
        yield label((start + stop) / 2, top + 4, arc.label, arc.probability, number)


def stem(
    centre: float,
    baseline: float,
    name: str,
    probability: float | None,
    number: str = "",
    lowered: float = 0.0,
) -> Iterator[str]:
    """An arc from the root, with its tip and its label, which may stand lower than usual."""
    foot = baseline - _FOOT
    yield f'<path class="arc" d="M{centre:.1f} {MARGIN + 10 + lowered:.1f} L{centre:.1f} {foot - 6:.1f}"/>'
    yield _tip(centre, foot)
    yield label(centre, MARGIN + 6 + lowered, name, probability, number)


def group(word: int, head: int, kind: str = "") -> str:
    """What begins an arc: it says which one it is, as CoNLL-U counts, so that a page can answer to it."""
    role = f' class="{kind}"' if kind else ""
    return f'<g{role} data-word="{word}" data-head="{head}">'


def label_width(arc: Arc, number: str = "") -> float:
    """The room that the label of an arc needs, with its probability or a number behind it."""
    number = number or ("" if arc.probability is None else ".00")
    return text_width(f"{arc.label} {number}".strip(), SMALL)


def _tip(x: float, y: float) -> str:
    return f'<path class="tip" d="M{x:.1f} {y:.1f} l-4 -8 q4 2.5 8 0 z"/>'
