"""Words with brackets over them: constituents and nested entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.viz.canvas.wording import made_distinct, sentences, with_number
from strukt.viz.pictures.base import Picture, require_probability


@dataclass(frozen=True)
class Bracket:
    """A span of words with a label: a constituent or an entity.

    Attributes:
        label: The label; may be empty.
        start: Index of the first word, counted from 0.
        end: Index of the last word, plus 1.
        code: The binary code of the label as an integer, if known.
        probability: The marginal probability of the bracket, if known.

    Examples:
        >>> from strukt.viz import BracketDiagram
        >>> diagram = BracketDiagram(["New", "York", "grew"], [Bracket("LOC", 0, 2, probability=0.9)])
        >>> diagram.description()
        '(LOC New York) grew. Brackets: LOC over New York 0.90.'
    """

    label: str
    start: int
    end: int
    code: int | None = None
    probability: float | None = None


class Part(NamedTuple):
    """A direct part of a bracket: another bracket, or a word.

    Attributes:
        start: Index of the first word.
        end: Index of the last word, plus 1.
        bracket: The index of the bracket in `BracketDiagram.brackets`; None for a word.

    Examples:
        >>> from strukt.viz import Bracket, BracketDiagram
        >>> BracketDiagram(["New", "York", "grew"], [Bracket("LOC", 0, 2)]).children()[None]
        [Part(start=0, end=2, bracket=0), Part(start=2, end=3, bracket=None)]
    """

    start: int
    end: int
    bracket: int | None = None


@dataclass(frozen=True)
class BracketDiagram(Picture):
    """A sentence with the brackets over it, which may nest but not cross.

    Args:
        forms: The words.
        brackets: The brackets from left to right, outer brackets before inner ones. If two brackets are over the
            same words, the first is the outer one.
        tags: The tag of each word; empty for no tags.
        bits: The number of bits of a code; 0 without codes.
        codes: All codes that the model knows. Their Hamming distances determine the colours, so that a code has
            one colour in all pictures. Without them, the codes in the picture determine the colours.

    Raises:
        ValueError: If the number of tags differs from that of the words, a bracket is out of range, out of order
            or crosses another, a code does not fit into the bits, or a probability is not between 0 and 1.

    Examples:
        >>> from strukt.viz import Bracket
        >>> noun_phrase = Bracket("NP", 0, 2)
        >>> diagram = BracketDiagram(["The", "dog", "barks"], [Bracket("S", 0, 3), noun_phrase])
        >>> diagram.parents(), diagram.levels()
        ([None, 0], [2, 1])
        >>> diagram.children()[0]
        [Part(start=0, end=2, bracket=1), Part(start=2, end=3, bracket=None)]
        >>> diagram.text()
        '(S (NP The dog) barks)'
        >>> BracketDiagram(["The", "dog"], [Bracket("NP", 0, 2, probability=0.5)]).description()
        '(NP The dog). Brackets: NP over The dog 0.50.'
    """

    forms: Sequence[str]
    brackets: Sequence[Bracket]
    tags: Sequence[str] = ()
    bits: int = 0
    codes: Sequence[int] = ()

    def __post_init__(self) -> None:
        expected = len(self.forms)
        if len(self.tags) not in (0, expected):
            raise ValueError(
                f"tags has {len(self.tags)} entries; expected {expected}, one for each word, or none"
            )
        for bracket in self.brackets:
            if not 0 <= bracket.start < bracket.end <= expected:
                raise ValueError(f"brackets has {_name(bracket)}; expected 0 <= start < end <= {expected} words")
            if bracket.probability is not None:
                require_probability(f"the bracket {_name(bracket)}", bracket.probability)
        for code in (*self.codes, *self._codes_shown()):
            if not (self.bits > 0 and 0 <= code < 1 << self.bits):
                raise ValueError(
                    f"codes has {code}, and bits is {self.bits}; expected bits > 0 and 0 <= code < 2**bits"
                )
        self._require_nested()

    def _require_nested(self) -> None:
        """Raise ValueError if brackets are out of order or cross."""
        for place, parent in enumerate(self.parents()):
            bracket, before = self.brackets[place], self.brackets[max(place - 1, 0)]
            if (bracket.start, -bracket.end) < (before.start, -before.end):
                raise ValueError(
                    f"brackets has {_name(bracket)} after {_name(before)}; "
                    "expected an order from left to right, with outer brackets before inner ones"
                )
            if parent is not None and bracket.end > self.brackets[parent].end:
                raise ValueError(
                    f"brackets has {_name(bracket)}, which crosses {_name(self.brackets[parent])}; "
                    "expected brackets that are nested or apart"
                )

    def parents(self) -> list[int | None]:
        """Return the index of the innermost bracket around each bracket, or None, in O(brackets) time."""
        open_brackets: list[int] = []
        parents: list[int | None] = []
        for place, bracket in enumerate(self.brackets):
            while open_brackets and self.brackets[open_brackets[-1]].end <= bracket.start:
                open_brackets.pop()
            parents.append(open_brackets[-1] if open_brackets else None)
            open_brackets.append(place)
        return parents

    def children(self) -> dict[int | None, list[Part]]:
        """Return the parts of each bracket, by its index, left to right; under None, those outside all brackets.

        Complexity:
            O(words + brackets + sum of the lengths of the brackets).
        """
        innermost: list[int | None] = [None] * len(self.forms)
        children: dict[int | None, list[Part]] = {None: []}
        for place, (bracket, parent) in enumerate(zip(self.brackets, self.parents(), strict=True)):
            innermost[bracket.start : bracket.end] = [place] * (bracket.end - bracket.start)
            children[place] = []
            children[parent].append(Part(bracket.start, bracket.end, place))
        for word, around in enumerate(innermost):
            children[around].append(Part(word, word + 1))
        for parts in children.values():
            parts.sort(key=lambda part: part.start)
        return children

    def levels(self) -> list[int]:
        """Return the height of each bracket: 1 if only words are in it, else 1 more than the highest inside it."""
        levels = [1] * len(self.brackets)
        parents = self.parents()
        for place in reversed(range(len(levels))):  # inner ones come later, so their levels are known
            parent = parents[place]
            if parent is not None:
                levels[parent] = max(levels[parent], levels[place] + 1)
        return levels

    def hexadecimal(self, code: int) -> str:
        """Return a code as it is written in pictures, with a digit for every four bits.

        Examples:
            >>> BracketDiagram(["a"], [], bits=10).hexadecimal(47)
            '02f'
        """
        return f"{code:0{-(-self.bits // 4)}x}"

    def colours(self) -> dict[int, str]:
        """Return the colour `#rrggbb` of each code in the picture; see `strukt.viz.code_colours.code_colours`."""
        from strukt.viz.code_colours import code_colours  # loads NumPy

        shown = self._codes_shown()
        return code_colours(shown, self.bits, self.codes or shown)

    def _codes_shown(self) -> list[int]:
        return [bracket.code for bracket in self.brackets if bracket.code is not None]

    def text(self) -> str:
        """Return the words in one line, with parentheses as brackets."""
        opening, closing = [""] * len(self.forms), [""] * len(self.forms)
        for bracket in self.brackets:
            opening[bracket.start] += f"({bracket.label} "
            closing[bracket.end - 1] += ")"
        return " ".join(map("".join, zip(opening, self.forms, closing, strict=True)))

    @property
    def heading(self) -> str:
        """The kind of picture."""
        return "Words with brackets"

    def description(self) -> str:
        """Describe the brackets in words, with tags, codes and probabilities, for screen readers."""
        names = made_distinct(self.forms)
        tags = ", ".join(f"{name} {tag}" for name, tag in zip(names, self.tags, strict=False))
        more = ", ".join(
            self._described(bracket)
            for bracket in self.brackets
            if bracket.code is not None or bracket.probability is not None
        )
        return sentences(self.text(), tags and f"Tags: {tags}", more and f"Brackets: {more}")

    def _described(self, bracket: Bracket) -> str:
        code = "" if bracket.code is None else f"code {self.hexadecimal(bracket.code)} "
        words = " ".join(self.forms[bracket.start : bracket.end])
        return with_number(f"{bracket.label} {code}over {words}".strip(), bracket.probability)


def _name(bracket: Bracket) -> str:
    return f"{bracket.label!r} from {bracket.start} to {bracket.end}"
