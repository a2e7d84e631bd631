"""Tags and arcs with box characters: arcs above the words, tags below them."""

from __future__ import annotations

from strukt.viz.canvas.terminal import Canvas, Palette
from strukt.viz.canvas.width import display_width, printable
from strukt.viz.pictures.arcs import listing
from strukt.viz.pictures.arcs.picture import Arc, Diagram

_GAP = 2


def draw(diagram: Diagram, width: int, palette: Palette) -> str:
    """The picture for `strukt.viz.terminal.draw`: too wide trees have one word a line, tagged words are folded."""
    drawn = _sentence(diagram, width, palette)
    return f"{printable(diagram.title)}\n{drawn}" if diagram.title else drawn


def _sentence(diagram: Diagram, width: int, palette: Palette) -> str:
    if not diagram.heads:
        return listing.fold(diagram, width, palette)
    picture = _Picture(diagram)
    if picture.width > width:
        return listing.draw(diagram, width, palette)
    return picture.canvas().render(palette)


class _Picture:
    """Where everything stands when a tree is drawn from left to right."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.arcs = diagram.arcs()
        self.below = listing.rows_below(diagram)
        heads_left = {arc.head for arc in self.arcs if arc.dependent < arc.head}
        heads_right = {arc.head for arc in self.arcs if arc.dependent > arc.head}
        self._has_left_leg = [word in heads_left for word in range(len(diagram.forms))]
        self._has_right_leg = [word in heads_right for word in range(len(diagram.forms))]
        self.centres = self._centres()
        self.width = max((self._end(word) for word in range(len(self.centres))), default=0)

    def _reach(self, word: int) -> tuple[int, int]:
        """The columns that a word needs left and right of its centre."""
        texts = [display_width(row[word]) for row, _ in self.below]
        if self.diagram.heads[word] == 0:
            texts.append(display_width(self._root_label(word)))
        left = max((columns - 1) // 2 for columns in texts)
        right = max(columns // 2 for columns in texts)
        return max(left, self._has_left_leg[word]), max(right, self._has_right_leg[word])

    def _centres(self) -> list[int]:
        ending: list[list[Arc]] = [[] for _ in self.diagram.forms]
        for arc in self.arcs:
            ending[arc.right].append(arc)
        centres: list[int] = []
        end = -_GAP
        for word, arcs in enumerate(ending):
            centre = end + _GAP + self._reach(word)[0]
            for arc in arcs:  # room for its label
                start = centres[arc.left] + self._offset(arc, arc.left)
                centre = max(centre, start + display_width(listing.label(arc)) + 1 - self._offset(arc, word))
            centres.append(centre)
            end = centre + self._reach(word)[1] + 1
        return centres

    def _end(self, word: int) -> int:
        return self.centres[word] + self._reach(word)[1] + 1

    def _offset(self, arc: Arc, word: int) -> int:
        """Arcs leave a word beside its centre and enter it there, so that the two share no column."""
        if word == arc.dependent:
            return 0
        return -1 if arc.dependent < word else 1

    def canvas(self) -> Canvas:
        canvas = Canvas()
        top = 1 + max((arc.level for arc in self.arcs), default=0)
        spans = []
        for arc in self.arcs:
            start, stop = (self.centres[word] + self._offset(arc, word) for word in (arc.left, arc.right))
            row = top - arc.level
            canvas.path([(top, start), (row, start), (row, stop), (top, stop)])
            spans.append((row, start, stop, listing.label(arc)))
        for word in self.diagram.roots():
            canvas.path([(0, self.centres[word]), (top, self.centres[word])])
            self._write_centred(canvas, 0, word, self._root_label(word), "label")
        for row, start, stop, text in spans:
            canvas.write(row, _label_column(canvas, row, start, stop, display_width(text)), text, "label")
        self._write_words(canvas, top)
        return canvas

    def _write_words(self, canvas: Canvas, arrows: int) -> None:
        for word, centre in enumerate(self.centres):
            if self.diagram.heads[word] >= 0:
                canvas.write(arrows, centre, "▼", "line")
            for number, (texts, role) in enumerate(self.below, start=1):
                self._write_centred(canvas, arrows + number, word, texts[word], role)

    def _write_centred(self, canvas: Canvas, row: int, word: int, text: str, role: str) -> None:
        canvas.write(row, self.centres[word] - (display_width(text) - 1) // 2, text, role)

    def _root_label(self, word: int) -> str:
        probabilities = self.diagram.head_probabilities
        name = self.diagram.relation(word) or "root"
        return listing.with_probability(name, probabilities[word] if probabilities else None)


def _label_column(canvas: Canvas, row: int, start: int, stop: int, columns: int) -> int:
    """The place nearest to the middle where a label hides no crossing line; the middle if there is none."""
    middle = start + (stop - start - columns + 1) // 2
    places = sorted(range(start + 1, stop - columns + 1), key=lambda column: abs(column - middle))
    free = (column for column in places if canvas.is_plain_line(row, column, column + columns))
    return next(free, middle)
