"""Expressions over lists of digits, as in ListOps: each line has a value, an expression, and optional notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from strukt.data.files import Source
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import LineError, parsed
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.line_sentence import LineSentence, note_fields
from strukt.data.listops.expressions import CLOSE, DIGITS, OPERATORS, Expression, parse
from strukt.data.sentence import Cell, cells

NONE = "_"
"""Placeholder for a value that is not given, and for the arity of a symbol that is not an operator."""

ARITY = "arity="
"""The beginning of the note that gives the number of arguments of each operator."""


class Sentence(LineSentence):
    r"""A line such as `9 TAB [MAX 2 9 [MIN 4 7 ] 0 ] TAB arity=4 2`; without a TAB it is the expression alone.

    Its words are the symbols of the expression, without round brackets. Their columns are "form", "head" and
    "arity".

    Source: Nangia and Bowman (2018), "ListOps: A Diagnostic Dataset for Latent Tree Learning".

    Attributes:
        expression: The expression.
        arities: The number of arguments of each operator, in order: from the note if there is one, otherwise
            from the brackets.

    Examples:
        >>> from strukt.data.listops import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"9\t[MAX 2 9 [MIN 4 7 ] 0 ]\n"))
        >>> sentence.label, sentence.arities, sentence.column("arity")
        ('9', [4, 2], ['4', '_', '_', '2', '_', '_', '_', '_', '_'])
        >>> str(sentence.annotated(arities=[3, 2]))
        '9\t[MAX 2 9 [MIN 4 7 ] 0 ]\tarity=3 2\n'
    """

    __slots__ = ("arities", "expression")
    plural: ClassVar[str] = "files of expressions"

    def __init__(self, block: Block, expression: Expression, arities: Sequence[int] | None = None) -> None:
        super().__init__(block)
        self.expression = expression
        self.arities = expression.arities if arities is None else list(arities)

    @property
    def forms(self) -> list[str]:
        """The symbols."""
        return self.expression.symbols

    @property
    def heads(self) -> list[int]:
        """The head of each symbol according to the brackets, counted from 1; 0 for the first symbol, the root."""
        return self.expression.heads

    @property
    def operators(self) -> list[int]:
        """Positions of the operators among the symbols, counted from 0."""
        return [place for place, form in enumerate(self.forms) if form in OPERATORS]

    @property
    def label(self) -> str | None:
        """The value of the expression, a digit; None if it is not given."""
        value, _ = _value_and_expression(self.fields)
        return None if value == NONE else value

    def column(self, name: str) -> list[str]:
        """Return the column "form", "head" or "arity"; the arity of other symbols than operators is `NONE`.

        Raises:
            ValueError: If there is no such column.
        """
        if name == "form":
            return self.forms
        if name == "head":
            return [str(head) for head in self.heads]
        if name != "arity":
            raise ValueError(f"expressions have no column {name!r}; choose one of form, head, arity")
        of_operators = dict(zip(self.operators, map(str, self.arities), strict=True))
        return [of_operators.get(place, NONE) for place in range(len(self))]

    def annotated(
        self, *, label: Cell | None = None, arities: Sequence[int] | None = None, **notes: Cell
    ) -> Sentence:
        """Return a copy with this value and these arities, and with notes `key=value` in place of earlier ones.

        Args:
            label: The value; None to keep the present one.
            arities: The number of arguments of each operator, written as a note; None for no such note, so that
                the arities of the copy are those of the brackets.
            notes: Further notes, none with the key "arity".

        Raises:
            ValueError: If the value is neither a digit nor `NONE`, there is not one whole number of arguments for
                each operator, or a note cannot be written.
        """
        if arities is not None and len(arities) != len(self.arities):
            raise ValueError(
                f"arities: got {len(arities)} for {len(self.arities)} operators; give one for each"
            )
        value, expression = _value_and_expression(self.fields)
        written = cells("label", [value if label is None else label], 1)
        if written[0] not in (*DIGITS, NONE):
            raise ValueError(f"label is {written[0]!r}; expected a digit, or {NONE!r} for no value")
        if not all(str(arity).isdecimal() for arity in arities or ()):
            raise ValueError(f"arities: got {list(arities or ())}; expected whole numbers from 0 up")
        if ARITY.removesuffix("=") in notes:
            raise ValueError("arity: this note is written for the argument arities; give that instead")
        noted = [] if arities is None else [ARITY + " ".join(map(str, arities))]
        block = self.block_with(*written, expression, *noted, *note_fields(notes))
        return Sentence(block, self.expression, arities)


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    r"""Read expressions with their values lazily and losslessly; the value may be missing.

    Blank lines are dropped; this is reported once per file.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a malformed line is left out. By default, blank lines are
            a warning, and malformed lines an error.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            empty, or a line is malformed. The error names file and line.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"9\t[MAX 2 9 [MIN 4 7 ] 0 ]\n"))
        >>> sentence.label, sentence.arities
        ('9', [4, 2])
    """
    return parsed(source, report, "expression", _sentence)


def read_text(source: Source) -> Iterator[Sentence]:
    r"""Read expressions without values, one per line; a space may follow the bracket of an operator.

    Blank lines are dropped, with one warning per file.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is not UTF-8 text, is empty, or a line is not an expression.

    Examples:
        >>> import io
        >>> [sentence] = read_text(io.BytesIO(b"[ MAX 2 9 ]\n"))
        >>> print(sentence, end="")
        [MAX 2 9 ]
    """
    return parsed(source, stop, "expression", _alone)


def missing(sentence: Sentence) -> Problem:
    """Return the problem to report if an expression has no value.

    Args:
        sentence: The expression, to name its file and line.

    Examples:
        >>> from strukt.data.listops import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"[MAX 2 9 ]"))
        >>> missing(sentence).message
        'the expression has no value'
    """
    remedy = "write it before the expression and a TAB"
    return Problem("label", "the expression has no value", remedy, sentence.path, sentence.line)


def wrong(sentence: Sentence) -> Problem:
    r"""Return the problem to report if the label of an expression is not its value.

    Args:
        sentence: The expression, with a label.

    Examples:
        >>> from strukt.data.listops import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"3\t[MAX 2 9 ]"))
        >>> wrong(sentence).message
        'the value is 9, not 3'
    """
    message = f"the value is {sentence.expression.value}, not {sentence.label}"
    return Problem("value", message, "correct the value or the expression", sentence.path, sentence.line)


def _alone(block: Block) -> Sentence:
    """Parse a line of plain text, with one space between symbols and none after the bracket of an operator."""
    line = " ".join(block.lines[0].split()).replace("[ ", "[")
    return _sentence(replace(block, lines=[line]))


def _sentence(block: Block) -> Sentence:
    """Parse a line; raise `LineError` if it is malformed."""
    fields = block.lines[0].split("\t")
    value, text = _value_and_expression(fields)
    notes = fields[2:]
    if value not in (*DIGITS, NONE):
        raise LineError(f"the value is {value!r}", f"write a digit, or {NONE} for none, and a TAB after it")
    if any("=" not in note for note in notes):
        message = f"expected value, expression and notes key=value, found {len(fields)} columns"
        raise LineError(message, "separate these by one TAB each")
    try:
        expression = parse(text)
    except ValueError as error:
        remedy = f"write an expression such as [MAX 2 9 [MIN 4 7 {CLOSE} 0 {CLOSE}"
        raise LineError(str(error), remedy) from None
    return Sentence(block, expression, _arities(notes, expression))


def _value_and_expression(fields: Sequence[str]) -> tuple[str, str]:
    """Return the first two fields; a line of one field is an expression without a value."""
    return (fields[0], fields[1]) if len(fields) > 1 else (NONE, fields[0])


def _arities(notes: Sequence[str], expression: Expression) -> list[int] | None:
    """Return the arities in the note on them; None if there is no such note."""
    numbers = next((note.removeprefix(ARITY).split() for note in notes if note.startswith(ARITY)), None)
    if numbers is None:
        return None
    count = len(expression.arities)
    if len(numbers) != count or not all(number.isascii() and number.isdigit() for number in numbers):
        raise LineError(
            f"the note of arities is {' '.join(numbers)!r}", f"write {count} numbers, one for each operator"
        )
    return [int(number) for number in numbers]
