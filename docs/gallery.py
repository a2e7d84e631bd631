"""The pictures and tables of the page "Gallery": mappings of vectors, marginals of structures beside SparseMAP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from shapes import number, svg, text
from torch import Tensor

from strukt import FactorGraph, LinearChain, Matching, ProjectiveTree
from strukt.distributions import StructuredDistribution
from strukt.factor_graph import factors
from strukt.mappings import budget, entmax15, fusedmax, normmax, oscarmax, sparsemax


def _rows(*rows: Sequence[float]) -> Tensor:
    """Return rows of numbers as a tensor in float64."""
    return torch.tensor(rows, dtype=torch.float64)


SCORES = _rows([-0.4, 0.2, 0.9, 1.3, 1.1, 0.3, -0.9, -0.2, 0.8, 1.05, 0.1, -0.6])[0]

MAPPINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: x.softmax(-1),
    "entmax15": entmax15,
    "sparsemax": sparsemax,
    "normmax": normmax,
    "fusedmax, weight 0.1": lambda x: fusedmax(x, 0.1),
    "oscarmax, weight 0.06": lambda x: oscarmax(x, 0.06),
    "budget, k = 3": lambda x: budget(x, 3.0),
}
TEMPERATURES = (0.5, 1.0, 2.0)

WORDS, TAGS = ("Time", "flies", "like", "an", "arrow"), ("noun", "verb", "adp", "det")
TAG_SCORES = _rows(
    [1.0, -0.2, -1, -1], [0.9, 1.0, -1, -1], [-1, 0.8, 0.9, -1], [-1, -1, -0.5, 1.5], [1.5, 0.4, -1, -1]
)
FOLLOWS = _rows([0.1, 0.5, 0.3, -0.5], [0.3, -0.8, 0.5, 0.5], [0.3, -1, -0.8, 0.5], [0.8, -1, -1, -1])

MEAL = ("We", "ate", "fish", "with", "rice")
ARCS = _rows(
    [-0.5, 0.0, 1.0, 0.2, -0.6, -0.4],
    [1.5, 0.1, 0.0, 0.2, -0.5, -0.5],
    [-0.2, -0.5, 1.3, 0.0, 0.2, 0.1],
    [-0.8, -0.8, 1.0, 0.8, 0.0, 0.4],
    [-0.8, -0.6, 0.4, 0.2, 1.1, 0.0],
)

ENGLISH, ITALIAN = ("the", "white", "house"), ("la", "casa", "bianca")
PAIRS = _rows([1.0, 0.2, -0.3], [0.1, 0.6, 0.9], [-0.2, 0.8, 0.7])

WIDTH, SHADE = 720, 0.45
"""The width of pictures in pixels, and the opacity of a cell with probability 1: its number stays readable."""

ANSWERS = ("marginals", "sparsemap")
TITLES = {"marginals": "marginals", "sparsemap": "SparseMAP"}


def vectors() -> str:
    """Draw the same scores, and the result of each mapping for them."""
    shapes = _bars(SCORES, "corner", "scores", 0, 0, 1.0)
    for place, (name, mapping) in enumerate(MAPPINGS.items(), start=1):
        result = mapping(SCORES)
        title = f"{name}: {_support(result)} of {len(result)}"
        tallest = 60 if name.startswith("budget") else 160
        shapes += _bars(result, _role(name), title, place % 2 * WIDTH / 2, place // 2 * 124, tallest / 44)
    return svg(WIDTH, 4 * 124 + 8, "Twelve scores under seven mappings, as bars", shapes)


def temperatures() -> str:
    """Draw the results of three mappings for the scores divided by three temperatures."""
    shapes = []
    for down, name in enumerate(("softmax", "entmax15", "sparsemax")):
        for across, temperature in enumerate(TEMPERATURES):
            result = MAPPINGS[name](SCORES / temperature)
            title = f"{name}, T = {temperature:g}: {_support(result)}"
            shapes += _bars(result, _role(name), title, across * WIDTH / 3, down * 124, 2.6, WIDTH / 3)
    return svg(
        WIDTH, 3 * 124 + 8, "Twelve scores under three mappings at three temperatures, as bars", shapes
    )


def _role(name: str) -> str:
    """Return the class in the style sheet: that of marginals for softmax, that of SparseMAP for other mappings."""
    return "marginals" if name == "softmax" else "sparsemap"


def _support(weights: Tensor) -> int:
    """Return the number of weights above 0."""
    return int((weights > 0).sum())


def _bars(
    values: Tensor, role: str, title: str, left: float, top: float, scale: float, width: float = WIDTH / 2
) -> list[str]:
    """Draw values as bars up and down from a line, 32 * scale pixels for a value of 1; a 0 has no bar."""
    step = (width - 24) / len(values)
    floor = top + (76 if bool((values < 0).any()) else 112)
    shapes = [text(left + width / 2, top + 24, "small name", title)]
    for place, value in enumerate(values.tolist()):
        tall = 32 * scale * abs(value)
        y, x = floor - tall if value > 0 else floor, left + 12 + step * place
        if value:
            shapes.append(
                f'<rect class="{role}" x="{x + 2:.1f}" y="{y:.1f}" width="{step - 4:.1f}" height="{tall:.1f}"/>'
            )
    edge = f'x="{left + 12:.1f}" y="{floor:.1f}" width="{width - 24:.1f}" height="1"'
    return [*shapes, f'<rect class="corner" {edge}/>']


def tags() -> str:
    """Draw the probabilities of tags, and the sequences of which SparseMAP is a mixture."""
    chain = LinearChain(TAG_SCORES, FOLLOWS)
    sparse = chain.sparsemap()
    shapes = _heats((chain.marginals, sparse.marginals), WORDS, TAGS)
    rows = [[TAGS[tag] for tag in event] for event in sparse.events.tolist()]
    shapes += _list(sparse.weights, rows, 200)
    return svg(
        WIDTH, 220 + 30 * len(rows), "Tags of a sentence: marginals, and SparseMAP with its sequences", shapes
    )


def matchings() -> str:
    """Draw the probabilities of pairs of words, and the matchings of which SparseMAP is a mixture."""
    matching = Matching(PAIRS)
    sparse = matching.sparsemap()
    shapes = _heats((matching.marginals, sparse.marginals), ENGLISH, ITALIAN)
    rows = [
        [f"{word}–{ITALIAN[column]}" for word, column in zip(ENGLISH, event, strict=True)]
        for event in sparse.events.tolist()
    ]
    shapes += _list(sparse.weights, rows, 168)
    return svg(
        WIDTH,
        188 + 30 * len(rows),
        "Words of two languages: marginals, and SparseMAP with its matchings",
        shapes,
    )


def _heats(answers: Sequence[Tensor], columns: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Draw two tensors ``(columns, rows)`` as heat maps side by side; a cell that is exactly 0 is empty."""
    shapes = []
    for panel, (role, answer) in enumerate(zip(ANSWERS, answers, strict=True)):
        left, wide = panel * WIDTH / 2 + 62, 286 / len(columns)
        shapes.append(text(left + 143, 26, f"name {role}", TITLES[role]))
        shapes += [text(left + wide * (i + 0.5), 50, "small", word) for i, word in enumerate(columns)]
        for j, row in enumerate(rows):
            y = 60 + 32 * j
            shapes.append(text(left - 28, y + 21, "small", row))
            for i, share in enumerate(answer[:, j].tolist()):
                place = f'x="{left + wide * i + 1:.1f}" y="{y + 1}" width="{wide - 2:.1f}" height="30"'
                shapes.append(f'<rect class="frame" {place}/>')
                if share:
                    shapes.append(f'<rect class="{role}" fill-opacity="{SHADE * share:.2f}" {place}/>')
                    shapes.append(text(left + wide * (i + 0.5), y + 21, "small", number(share, 2)))
    return shapes


def _list(weights: Tensor, rows: Sequence[Sequence[str]], top: float) -> Iterator[str]:
    """Draw the structures of SparseMAP, one per line, each after its weight."""
    for j, (weight, row) in enumerate(zip(weights.tolist(), rows, strict=True)):
        y = top + 30 * j
        yield text(50, y + 20, "", number(weight, 2))
        yield f'<rect class="sparsemap" x="80" y="{y + 8:.1f}" width="{180 * weight:.1f}" height="14"/>'
        for i, part in enumerate(row):
            yield text(330 + 360 / len(row) * i, y + 20, "", part)


def trees() -> str:
    """Draw the probabilities of arcs, and the trees of which SparseMAP is a mixture."""
    tree = ProjectiveTree(ARCS)
    sparse = tree.sparsemap()
    shapes = []
    for panel, (role, answer) in enumerate(zip(ANSWERS, (tree.marginals, sparse.marginals), strict=True)):
        shapes.append(text(WIDTH / 2 * (panel + 0.5), 26, f"name {role}", TITLES[role]))
        shapes += _arcs(answer, role, WIDTH / 2 * panel, WIDTH / 2, 204)
    chosen = tree.to_parts(sparse.events)
    width = WIDTH / len(chosen)
    for place, (weight, parts) in enumerate(zip(sparse.weights.tolist(), chosen, strict=True)):
        shapes.append(text(width * (place + 0.5), 250, "name", number(weight, 2)))
        shapes += _arcs(parts.double(), "sparsemap", width * place, width, 368)
    return svg(WIDTH, 384, "Arcs of a sentence: marginals, and SparseMAP with its trees", shapes)


def budgets() -> str:
    """Draw the SparseMAP of the trees, and LP-SparseMAP with at most two dependents for each word."""
    graph = FactorGraph()
    arcs = graph.variables(*ARCS.shape)
    graph.add(factors.ProjectiveTree(arcs))
    for head in range(1, len(MEAL) + 1):
        graph.add(factors.Budget(arcs[:, head], 2))
    titles = ("SparseMAP", "LP-SparseMAP with budgets")
    answers = (ProjectiveTree(ARCS).sparsemap().marginals, graph.lp_sparsemap(ARCS).marginals)
    shapes = []
    for panel, (title, answer) in enumerate(zip(titles, answers, strict=True)):
        shapes.append(text(WIDTH / 2 * (panel + 0.5), 26, "name sparsemap", title))
        shapes += _arcs(answer, "sparsemap", WIDTH / 2 * panel, WIDTH / 2, 204)
    return svg(WIDTH, 220, "Arcs of a sentence: SparseMAP, and LP-SparseMAP with a budget", shapes)


def _arcs(probabilities: Tensor, role: str, left: float, width: float, floor: float) -> Iterator[str]:
    """Draw arcs above the words, the wider the more probable; in a wide picture, write their probabilities.

    Args:
        probabilities: ``(n, n + 1)``, the probability of each head of each word.
        role: The class of the arcs in the style sheet.
        left: The left edge of the picture, in pixels.
        width: The width of the picture, in pixels.
        floor: The y coordinate of the words.
    """
    step, labelled = (width - 30) / len(MEAL), width > WIDTH / 3
    rise = 24.0 if labelled else 16.0
    for word, row in enumerate(probabilities.tolist()):
        x = left + 15 + step * (word + 0.5)
        yield text(x, floor, "" if labelled else "small", MEAL[word])
        for head, share in enumerate(row):
            if not share:
                continue
            start = x if head == 0 else left + 15 + step * (head - 0.5)
            foot, high = floor - 18, 1.6 * rise * (4 if head == 0 else abs(head - 1 - word))
            apex = foot - 0.75 * high if head else foot - high
            curve = f"C{start:.1f} {foot - high:.1f} {x:.1f} {foot - high:.1f} {x:.1f} {foot:.1f}"
            path = f"M{start:.1f} {foot:.1f} {curve}" if head else f"M{x:.1f} {foot - high:.1f} V{foot:.1f}"
            yield f'<path class="arc {role}" style="stroke-width: {5 * share + 0.3:.2f}px" d="{path}"/>'
            yield f'<circle class="{role}" cx="{x:.1f}" cy="{foot:.1f}" r="{0.5 + 3.5 * share:.1f}"/>'
            if labelled and 0.1 <= share < 0.995:
                beside, above = ((start + x) / 2, 15 if start > x else -4) if head else (x - 22, 14)
                yield text(beside, apex + above, "small", number(share, 2))


def supports() -> str:
    """Return the rows of the table of mappings: weights above 0 by temperature, and largest weight and sum."""
    rows = []
    for name, mapping in MAPPINGS.items():
        counts = [str(_support(mapping(SCORES / temperature))) for temperature in TEMPERATURES]
        result = mapping(SCORES)
        rows.append(" | ".join([name, *counts, number(result.max().item(), 2), number(result.sum().item(), 2)]))
    return "\n".join(f"| {row} |" for row in rows)


def structures() -> str:
    """Return the rows of the table of structures: how many structures and parts there are, and have a weight."""
    kinds: dict[str, StructuredDistribution] = {
        "tag sequences": LinearChain(TAG_SCORES, FOLLOWS),
        "dependency trees": ProjectiveTree(ARCS),
        "matchings": Matching(PAIRS),
    }
    rows = []
    for name, kind in kinds.items():
        sparse = kind.sparsemap()
        counts = (
            kind.log_count.exp().round(),
            _support(kind.marginals),
            len(sparse.weights),
            _support(sparse.marginals),
        )
        rows.append(" | ".join([name, *(str(int(count)) for count in counts)]))
    return "\n".join(f"| {row} |" for row in rows)


PICTURES = {
    "vectors.svg": vectors,
    "temperatures.svg": temperatures,
    "tags.svg": tags,
    "trees.svg": trees,
    "budgets.svg": budgets,
    "matchings.svg": matchings,
}
