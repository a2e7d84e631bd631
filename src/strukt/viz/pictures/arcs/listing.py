"""Sentences too wide for one line: a tree with one word a line, tagged words folded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from strukt.viz.canvas.terminal import Canvas, Palette, paint
from strukt.viz.canvas.width import display_width, pad, printable
from strukt.viz.pictures.arcs.picture import Arc, Diagram

Row = tuple[Sequence[str], str]
"""One text per word, and their role in the palette."""


def with_probability(text: str, probability: float | None) -> str:
    """A label, followed by its probability where that is known.

    Examples:
        >>> with_probability("det", 0.984), with_probability("det", None), with_probability("", 1.0)
        ('det .98', 'det', '1.0')
    """
    if probability is None:
        return text
    return f"{text} {shorten(probability)}".strip()


def shorten(probability: float) -> str:
    """Two digits, as tables in papers have them.

    Examples:
        >>> shorten(0.984), shorten(0.997), shorten(0.0)
        ('.98', '1.0', '.00')
    """
    digits = f"{probability:.2f}"
    return "1.0" if digits == "1.00" else digits.removeprefix("0")


def exact(probability: float) -> str:
    """Two digits that are not nought, for probabilities of whole structures, which may be small.

    Examples:
        >>> exact(0.984), exact(0.0123), exact(0.000012), exact(1e-310)
        ('.98', '.012', '1e-5', '<1e-300')
    """
    if probability >= 0.0995:
        return shorten(probability)
    if probability >= 1e-4:
        return f"{probability:.2g}".removeprefix("0")
    return re.sub("e-0?", "e-", f"{probability:.0e}") if probability >= 1e-300 else "<1e-300"


def label(arc: Arc) -> str:
    """What is written on an arc."""
    return with_probability(arc.label, arc.probability)


def rows_below(diagram: Diagram) -> list[Row]:
    """The words and what stands under them."""
    rows: list[Row] = [(diagram.forms, "form")]
    if diagram.tags:
        rows.append((diagram.tags, "tag"))
    if diagram.tag_probabilities:
        rows.append(([shorten(probability) for probability in diagram.tag_probabilities], "probability"))
    return rows


def fold(diagram: Diagram, width: int, palette: Palette) -> str:
    """Words with their tags below them, in as many lines as they need.

    Examples:
        >>> print(fold(Diagram(["The", "dog", "barks"], ["DET", "NOUN", "VERB"]), 10, {}))
        The  dog
        DET  NOUN
        <BLANKLINE>
        barks
        VERB
    """
    rows = rows_below(diagram)
    columns = [max(display_width(texts[word]) for texts, _ in rows) for word in range(len(diagram.forms))]
    lines = []
    for words in folded(columns, width):
        for texts, role in rows:
            cells = [_cell(texts[word], columns[word], palette.get(role, "")) for word in words]
            lines.append("  ".join(cells).rstrip())
        lines.append("")
    return "\n".join(lines[:-1])


def folded(columns: Sequence[int], width: int) -> list[list[int]]:
    """What stands in each line, with two columns between: as much as fits and at least one.

    Examples:
        >>> folded([3, 4, 5], 9)
        [[0, 1], [2]]
    """
    lines: list[list[int]] = []
    used = 0
    for word, needed in enumerate(columns):
        if not lines or used + 2 + needed > width:
            lines.append([])
            used = -2
        lines[-1].append(word)
        used += 2 + needed
    return lines


def _cell(text: str, columns: int, code: str) -> str:
    return paint(printable(text), code) + " " * (columns - display_width(text))


def draw(diagram: Diagram, width: int, palette: Palette) -> str:
    """A tree with one word a line, its arcs on the left as far as they fit, and a table of words and heads.

    Examples:
        >>> print(draw(Diagram(["Dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"]), 40, {}))
        ╭─▶ 1  Dogs  NOUN  nsubj ← 2 bark
        ╰─▶ 2  bark  VERB  root
    """
    table = _table(diagram, palette)
    plain = _table(diagram, {})
    room = width - max(display_width(line) for line in plain) - 2
    levels = max((arc.level for arc in diagram.arcs()), default=0)
    step = 2 if 2 * levels <= room else 1
    if step * levels > room:
        return "\n".join(table)
    gutter = _gutter(diagram, levels, step).render(palette).split("\n")
    return "\n".join(f"{arcs} {words}" for arcs, words in zip(gutter, table, strict=True))


def _gutter(diagram: Diagram, levels: int, step: int) -> Canvas:
    canvas = Canvas()
    edge = step * levels
    for arc in diagram.arcs():
        column = step * (levels - arc.level)
        canvas.path([(arc.left, edge), (arc.left, column), (arc.right, column), (arc.right, edge)])
    for word, head in enumerate(diagram.heads):
        if head >= 0:
            canvas.write(word, edge, "▶", "line")
    return canvas


def _table(diagram: Diagram, palette: Palette) -> list[str]:
    """A line per word: number, form, tag, relation, head."""
    numbers = [str(word) for word in range(1, len(diagram.forms) + 1)]
    heads = [_head(diagram, word) for word in range(len(diagram.forms))]
    columns: list[Row] = [(numbers, "probability"), *rows_below(diagram), (heads, "label")]
    widths = [max(map(display_width, texts)) for texts, _ in columns]
    lines = []
    for word in range(len(numbers)):
        cells = [
            paint(pad(texts[word], columns), palette.get(role, ""))
            for (texts, role), columns in zip(columns, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _head(diagram: Diagram, word: int) -> str:
    probability = diagram.head_probabilities[word] if diagram.head_probabilities else None
    head = diagram.heads[word]
    if head < 0:
        return ""
    source = f" ← {head} {diagram.forms[head - 1]}" if head else ""
    return with_probability(diagram.relation(word), probability) + source
