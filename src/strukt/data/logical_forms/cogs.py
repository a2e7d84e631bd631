"""Sentences with logical forms, as in COGS: each line has a sentence, its logical form and its case, and TABs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, get_args

from strukt.data.files import Source
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import LineError, parsed, text_blocks
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.line_sentence import LineSentence
from strukt.data.logical_forms.tagging_schemes import Scheme, direct, published
from strukt.data.logical_forms.word_tags import Tags, form_of, tags_of
from strukt.data.sentence import Cell, cells

_COLUMNS = 3


class Sentence(LineSentence):
    r"""A line of 1 to 3 columns: a sentence, its logical form, and the generalisation case it exemplifies.

    The columns parent, role, category, determiner and verb of its words encode the logical form; `Tags` describes
    them.

    Source: Kim and Linzen (2020), "COGS: A Compositional Generalization Challenge Based on Semantic
    Interpretation".

    Attributes:
        tags: These five columns, as set by `annotated` or derived from the logical form; None if there is no
            logical form, or if tags cannot express it.

    Examples:
        >>> from strukt.data.logical_forms.cogs import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"Emma ate .\teat . agent ( x _ 1 , Emma )\tin_distribution\n"))
        >>> sentence.column("role"), sentence.column("verb"), sentence.case
        (['agent', '_', '_'], ['_', 'eat', '_'], 'in_distribution')
        >>> sentence.annotated(role=["theme", "_", "_"]).logical_form
        'eat . theme ( x _ 1 , Emma )'
    """

    __slots__ = ("tags",)
    plural: ClassVar[str] = "files of logical forms"

    def __init__(self, block: Block, tags: Tags | None) -> None:
        super().__init__(block)
        self.tags = tags

    @property
    def forms(self) -> list[str]:
        """The words of the first column."""
        return self.field(0).split()

    @property
    def logical_form(self) -> str:
        """The logical form, which is the second column; empty if there is none."""
        return self.field(1)

    @property
    def case(self) -> str:
        """The generalisation case, which is the third column; empty if there is none."""
        return self.field(2)

    def column(self, name: str) -> list[str]:
        """Return one of the columns "parent", "role", "category", "determiner", "verb".

        Raises:
            ValueError: If there is no such column.
            DataError: If the sentence has no tags.
        """
        _require_columns([name])
        if self.tags is None:
            raise missing(self).error()
        values: list[str] = getattr(self.tags, name)
        return list(values)

    def annotated(self, **columns: Sequence[Cell]) -> Sentence:
        """Return a copy with the named columns replaced, and the logical form rebuilt from all columns.

        Raises:
            ValueError: If there is no such column, there is not one value for each word, a value cannot be written
                to a file or has white space, a parent is neither `_`, `self` nor a whole number, or the sentence
                has no tags and some columns are not named.
        """
        _require_columns(columns)
        words = self.forms
        known = {} if self.tags is None else self.tags._asdict()
        values = known | {name: cells(name, column, len(words)) for name, column in columns.items()}
        if spaced := [tag for column in values.values() for tag in column if tag.split() != [tag]]:
            raise ValueError(f"{spaced[0]!r} is not a tag: a logical form has spaces around tags; use one word")
        if len(values) < len(Tags._fields):
            raise ValueError(f"the sentence has no tags to keep; give all of {', '.join(Tags._fields)}")
        tags = Tags(**values)
        form = form_of(words, direct(words, tags))
        return Sentence(self.block_with(self.field(0), form, *self.fields[2:]), tags)

    def in_scheme(self, scheme: Scheme) -> Sentence:
        """Return the sentence with its direct tags converted to a scheme, "direct" or "published".

        The tags of a sentence are direct when it is read. If the published scheme cannot express the logical
        form, the result has no tags.

        Raises:
            ValueError: If there is no such scheme.
        """
        if scheme not in get_args(Scheme):
            raise ValueError(f"scheme is {scheme!r}; expected {' or '.join(get_args(Scheme))}")
        if self.tags is None or scheme == "direct":
            return self
        words = self.forms
        try:
            tags = published(words, self.tags)
        except ValueError:
            return Sentence(self.block, None)
        return Sentence(self.block, tags if form_of(words, direct(words, tags)) == self.logical_form else None)


def read(source: Source, report: Report = stop) -> Iterator[Sentence]:
    r"""Read sentences with logical forms lazily and losslessly.

    The case may be missing; in text to be annotated, so may the logical form. Blank lines are dropped, with one
    warning per file.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a malformed sentence is left out.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            empty, or a line is malformed. The error names file and line.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"Emma ate .\teat . agent ( x _ 1 , Emma )\tin_distribution\n"))
        >>> sentence.forms, sentence.logical_form
        (['Emma', 'ate', '.'], 'eat . agent ( x _ 1 , Emma )')
    """
    return parsed(source, report, "logical-form", _sentence)


def read_text(source: Source) -> Iterator[Sentence]:
    r"""Read plain text lazily, ready to be annotated: one sentence per line, words separated by white space.

    Blank lines are skipped.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is not UTF-8 text, or has no sentences.

    Examples:
        >>> import io
        >>> [sentence] = read_text(io.BytesIO(b"Emma  ate .\n"))
        >>> print(sentence, end="")
        Emma ate .
    """
    return (Sentence(block, None) for block in text_blocks(source))


def missing(sentence: Sentence) -> Problem:
    """Return the problem that explains why a sentence has no tags."""
    if sentence.logical_form:
        message = (
            "tags cannot express the logical form: a word has two parents, or the order is not that of COGS"
        )
        remedy = "write it as in COGS, or leave the sentence out"
    else:
        message, remedy = "the sentence has no logical form", "write it after the sentence and a TAB"
    return Problem("tags", message, remedy, sentence.path, sentence.line)


def _sentence(block: Block) -> Sentence:
    """Parse a line; raise `LineError` if it is malformed."""
    untagged = Sentence(block, None)
    columns = len(untagged.fields)
    if columns > _COLUMNS:
        message = f"expected sentence, logical form and case, found {columns} columns"
        raise LineError(message, "keep these three")
    words, form = untagged.forms, untagged.logical_form
    if not words:
        raise LineError("the sentence is empty", "write its words, a TAB, and its logical form")
    if not form:
        return untagged
    try:
        tags = tags_of(words, form)
    except ValueError as error:
        raise LineError(str(error), "write the logical form as in COGS") from None
    return Sentence(block, tags) if form_of(words, tags) == form else untagged


def _require_columns(names: Iterable[str]) -> None:
    """Raise ValueError if a name is not that of a column of `Tags`."""
    for name in names:
        if name not in Tags._fields:
            raise ValueError(
                f"logical forms have no column {name!r}; choose one of {', '.join(Tags._fields)}"
            )
