"""Pairs of sentences for natural language inference (NLI), one per line: premise, TAB, hypothesis, TAB, class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from strukt.data import classes
from strukt.data.attached import ATTACHED, JOINED, all_matches
from strukt.data.files import Source
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import LineError, parsed
from strukt.data.files.problems import Report, stop
from strukt.data.line_sentence import LineSentence, note_fields
from strukt.data.sentence import Cell, cells

NONE = "-"
"""The class of pairs on which the annotators did not agree; it is read as no class."""

_COLUMNS = 3

_CLITIC = r"(?:n['’]t|['’](?:s|m|d|ll|re|ve))\b"
_LETTERS = rf"(?:(?!n['’]t\b)\w{ATTACHED})+"
_WORD = re.compile(
    rf"{_CLITIC}|{ATTACHED}{_LETTERS}(?:(?!{_CLITIC})[-'’.]{_LETTERS})*|``|''|{JOINED}", re.IGNORECASE
)


class Pair(classes.Sentence):
    """A premise and a hypothesis; the class says whether the premise entails the hypothesis.

    A subclass also implements `label` and `annotated`, as `LinePair` does.

    Attributes:
        premise: The words of the first sentence.
        hypothesis: The words of the second sentence.
    """

    __slots__ = ("hypothesis", "premise")

    def __init__(self, block: Block, premise: list[str], hypothesis: list[str]) -> None:
        super().__init__(block)
        self.premise, self.hypothesis = premise, hypothesis

    @property
    def forms(self) -> list[str]:
        """The words of both sentences."""
        return self.premise + self.hypothesis


class LinePair(LineSentence, Pair):
    r"""A line such as `a man sleeps TAB he isn't awake TAB entailment`; the class may be missing, or `-`.

    Its words are those of the premise followed by those of the hypothesis, tokenised as in English treebanks.

    Examples:
        >>> from strukt.data.classes.pairs import read
        >>> import io
        >>> [pair] = read(io.BytesIO(b"A man sleeps.\tHe isn't awake.\n"))
        >>> pair.premise, pair.hypothesis, pair.label
        (['A', 'man', 'sleeps', '.'], ['He', 'is', "n't", 'awake', '.'], None)
        >>> str(pair.annotated(label="entailment", p="0.9000"))
        "A man sleeps.\tHe isn't awake.\tentailment\tp=0.9000\n"
    """

    __slots__ = ()
    plural: ClassVar[str] = "pairs"
    annotation: ClassVar[str] = "label"
    remedy: ClassVar[str] = "write it after the hypothesis and a TAB"

    def __init__(self, block: Block) -> None:
        premise, hypothesis = map(words, block.lines[0].split("\t")[:2])
        super().__init__(block, premise, hypothesis)

    @property
    def label(self) -> str | None:
        """The class; None if it is missing or `-`."""
        label = self.field(2)
        return None if label in ("", NONE) else label

    def annotated(self, *, label: str | None = None, **notes: Cell) -> LinePair:
        """Return a copy with this class, and with notes `key=value` after it; None keeps the class.

        Earlier notes are removed. A missing class is written as `-`.

        Raises:
            ValueError: If the class is blank, or the class or a note cannot be written to a file.
        """
        written = cells("label", [(self.label or NONE) if label is None else label], 1)
        if written[0].isspace():
            raise ValueError(f"label: {label!r} is blank; give a class, or {NONE!r} for none")
        return LinePair(self.block_with(*self.fields[:2], *written, *note_fields(notes)))


def words(text: str) -> list[str]:
    """Tokenise a sentence as English treebanks do: at white space, punctuation, and before clitics.

    Hyphens, full stops and apostrophes between letters or digits do not split a word. A full
    stop at the end of a word is a token of its own, even after an abbreviation.

    Examples:
        >>> words("The boy's dog doesn't see O'Neill's T-shirt, I'm told.")
        ['The', 'boy', "'s", 'dog', 'does', "n't", 'see', "O'Neill", "'s", 'T-shirt', ',', 'I', "'m", 'told', '.']
        >>> words("A man selling his brother 's corn-on-the-cob .")
        ['A', 'man', 'selling', 'his', 'brother', "'s", 'corn-on-the-cob', '.']
    """
    return all_matches(_WORD, text)


def read(source: Source, report: Report = stop) -> Iterator[LinePair]:
    r"""Read pairs lazily and losslessly; pairs to be classified have no class.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a malformed line is left out.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            empty, or a line is not a pair. The error names file and line.

    Examples:
        >>> import io
        >>> [pair] = read(io.BytesIO(b"A man sleeps.\tHe rests.\tentailment\n"))
        >>> pair.premise, pair.hypothesis, pair.label
        (['A', 'man', 'sleeps', '.'], ['He', 'rests', '.'], 'entailment')
    """
    return parsed(source, report, "pair", _pair)


def _pair(block: Block) -> LinePair:
    """Parse a line; raise `LineError` if it is malformed."""
    columns = block.lines[0].split("\t")
    if len(columns) < 2 or any("=" not in note for note in columns[_COLUMNS:]):
        message = f"expected premise, hypothesis and class, found {len(columns)} columns"
        raise LineError(message, "separate these by one TAB each; only notes key=value may follow")
    for column, name in zip(columns, ("premise", "hypothesis", "class"), strict=False):
        if not column.strip():
            remedy = f"write it, or {NONE} for none" if name == "class" else "write its words"
            raise LineError(f"the {name} is empty", remedy)
    return LinePair(block)
