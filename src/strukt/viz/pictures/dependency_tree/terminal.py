"""Words with tags and arcs in the terminal.

A dependency tree is drawn from left to right, or with one word per line if that is too wide. Tagged words without
arcs are folded.
"""

from __future__ import annotations

from collections.abc import Sequence

from strukt.viz.canvas.terminal import Grid, Palette, paint
from strukt.viz.canvas.width import display_width, folded, pad, printable
from strukt.viz.canvas.wording import shorten, with_probability
from strukt.viz.pictures.dependency_tree.picture import Arc, Diagram

Row = tuple[Sequence[str], str]
"""A text for each word, and the role of the texts in the palette."""

_GAP = 2


def terminal(diagram: Diagram, width: int, palette: Palette) -> str:
    """Draw arcs above the words and tags below, in the form that fits the width, under the title."""
    drawn = _sentence(diagram, width, palette)
    return "\n".join(filter(None, [printable(diagram.title), drawn]))


def _sentence(diagram: Diagram, width: int, palette: Palette) -> str:
    """Draw a sentence without its title, in the form that fits the width."""
    if not diagram.heads:
        return fold(diagram, width, palette)
    layout = _Layout(diagram)
    if layout.width > width:
        return listing(diagram, width, palette)
    return layout.grid().render(palette)


class _Layout:
    """The positions of all parts of a tree that is drawn from left to right."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.arcs = diagram.arcs()
        self.below = _rows_below(diagram)
        heads_left = {arc.head for arc in self.arcs if arc.dependent < arc.head}
        heads_right = {arc.head for arc in self.arcs if arc.dependent > arc.head}
        self._has_left_leg = [word in heads_left for word in range(len(diagram.forms))]
        self._has_right_leg = [word in heads_right for word in range(len(diagram.forms))]
        self.centres = self._centres()
        self.width = max((self._end(word) for word in range(len(self.centres))), default=0)

    def _reach(self, word: int) -> tuple[int, int]:
        """Return the columns that a word needs left and right of its centre."""
        texts = [display_width(row[word]) for row, _ in self.below]
        if self.diagram.heads[word] == 0:
            texts.append(display_width(self._root_label(word)))
        left = max((columns - 1) // 2 for columns in texts)
        right = max(columns // 2 for columns in texts)
        return max(left, self._has_left_leg[word]), max(right, self._has_right_leg[word])

    def _centres(self) -> list[int]:
        """Return the column of the centre of each word; words are moved apart for the labels of arcs."""
        ending: list[list[Arc]] = [[] for _ in self.diagram.forms]
        for arc in self.arcs:
            ending[arc.right].append(arc)
        centres: list[int] = []
        end = -_GAP
        for word, arcs in enumerate(ending):
            centre = end + _GAP + self._reach(word)[0]
            for arc in arcs:  # the label of the arc must fit
                start = centres[arc.left] + self._offset(arc, arc.left)
                centre = max(centre, start + display_width(_label(arc)) + 1 - self._offset(arc, word))
            centres.append(centre)
            end = centre + self._reach(word)[1] + 1
        return centres

    def _end(self, word: int) -> int:
        return self.centres[word] + self._reach(word)[1] + 1

    def _offset(self, arc: Arc, word: int) -> int:
        """Return the column of an end of an arc, relative to the centre of its word.

        An arc enters a word at its centre. All arcs that leave a word to one side begin in the column next to the
        centre.
        """
        if word == arc.dependent:
            return 0
        return -1 if arc.dependent < word else 1

    def grid(self) -> Grid:
        """Draw the arcs, and the words below them."""
        grid = Grid()
        top = 1 + max((arc.level for arc in self.arcs), default=0)
        spans = []
        for arc in self.arcs:
            start, stop = (self.centres[word] + self._offset(arc, word) for word in (arc.left, arc.right))
            row = top - arc.level
            grid.path([(top, start), (row, start), (row, stop), (top, stop)])
            spans.append((row, start, stop, _label(arc)))
        for word in self.diagram.roots():
            grid.path([(0, self.centres[word]), (top, self.centres[word])])
            self._write_centred(grid, 0, word, self._root_label(word), "label")
        for row, start, stop, text in spans:
            grid.write(row, _label_column(grid, row, start, stop, display_width(text)), text, "label")
        self._write_words(grid, top)
        return grid

    def _write_words(self, grid: Grid, arrows: int) -> None:
        """Write the words, tags and probabilities below the row of arrowheads, `arrows`."""
        for word, centre in enumerate(self.centres):
            if self.diagram.heads[word] >= 0:
                grid.write(arrows, centre, "▼", "line")
            for number, (texts, role) in enumerate(self.below, start=1):
                self._write_centred(grid, arrows + number, word, texts[word], role)

    def _write_centred(self, grid: Grid, row: int, word: int, text: str, role: str) -> None:
        grid.write(row, self.centres[word] - (display_width(text) - 1) // 2, text, role)

    def _root_label(self, word: int) -> str:
        probabilities = self.diagram.head_probabilities
        name = self.diagram.relation(word) or "root"
        return with_probability(name, probabilities[word] if probabilities else None)


def _label_column(grid: Grid, row: int, start: int, stop: int, columns: int) -> int:
    """Return the column nearest to the middle where a label hides no crossing line, or else the middle."""
    middle = start + (stop - start - columns + 1) // 2
    places = sorted(range(start + 1, stop - columns + 1), key=lambda column: abs(column - middle))
    free = (column for column in places if grid.is_plain_line(row, column, column + columns))
    return next(free, middle)


def _label(arc: Arc) -> str:
    return with_probability(arc.label, arc.probability)


def _rows_below(diagram: Diagram) -> list[Row]:
    """Return the rows below the arcs: words, tags and probabilities."""
    rows: list[Row] = [(diagram.forms, "form")]
    if diagram.tags:
        rows.append((diagram.tags, "tag"))
    if diagram.tag_probabilities:
        rows.append(([shorten(probability) for probability in diagram.tag_probabilities], "probability"))
    return rows


def fold(diagram: Diagram, width: int, palette: Palette) -> str:
    """Draw words with their tags below them, in as many lines as they need.

    Examples:
        >>> print(fold(Diagram(["The", "dog", "barks"], ["DET", "NOUN", "VERB"]), 10, {}))
        The  dog
        DET  NOUN
        <BLANKLINE>
        barks
        VERB
    """
    rows = _rows_below(diagram)
    columns = [max(display_width(texts[word]) for texts, _ in rows) for word in range(len(diagram.forms))]
    lines = []
    for words in folded(columns, width):
        for texts, role in rows:
            cells = [_cell(texts[word], columns[word], palette.get(role, "")) for word in words]
            lines.append("  ".join(cells).rstrip())
        lines.append("")
    return "\n".join(lines[:-1])


def _cell(text: str, columns: int, code: str) -> str:
    return paint(printable(text), code) + " " * (columns - display_width(text))


def listing(diagram: Diagram, width: int, palette: Palette) -> str:
    """Draw a tree with one word per line: arcs on the left, if they fit, and a table of words and heads.

    Examples:
        >>> print(listing(Diagram(["Dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"]), 40, {}))
        ╭─▶ 1  Dogs  NOUN  nsubj ← 2 bark
        ╰─▶ 2  bark  VERB  root
    """
    table = _table(diagram, palette)
    plain = _table(diagram, {})
    free = width - max(display_width(line) for line in plain) - 2
    levels = max((arc.level for arc in diagram.arcs()), default=0)
    step = 2 if 2 * levels <= free else 1
    if step * levels > free:
        return "\n".join(table)
    gutter = _gutter(diagram, levels, step).render(palette).split("\n")
    return "\n".join(f"{arcs} {words}" for arcs, words in zip(gutter, table, strict=True))


def _gutter(diagram: Diagram, levels: int, step: int) -> Grid:
    """Draw the arcs of `levels` levels beside a table with one word per line, `step` columns for each level."""
    grid = Grid()
    edge = step * levels
    for arc in diagram.arcs():
        column = step * (levels - arc.level)
        grid.path([(arc.left, edge), (arc.left, column), (arc.right, column), (arc.right, edge)])
    for word, head in enumerate(diagram.heads):
        if head >= 0:
            grid.write(word, edge, "▶", "line")
    return grid


def _table(diagram: Diagram, palette: Palette) -> list[str]:
    """Return a line per word: number, form, tag, relation, head."""
    numbers = [str(word) for word in range(1, len(diagram.forms) + 1)]
    heads = [_head(diagram, word) for word in range(len(diagram.forms))]
    columns: list[Row] = [(numbers, "probability"), *_rows_below(diagram), (heads, "label")]
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
    """Return the label of the arc to a word and its head, as in "det ← 2 dog"; empty if it has no head."""
    probability = diagram.head_probabilities[word] if diagram.head_probabilities else None
    head = diagram.heads[word]
    if head < 0:
        return ""
    source = f" ← {head} {diagram.forms[head - 1]}" if head else ""
    return with_probability(diagram.relation(word), probability) + source
