"""Labels of sentences in CoNLL-U, as a comment `# label = positive` before the words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from typing_extensions import override

from strukt.data import classes
from strukt.data.conllu import reading
from strukt.data.conllu.dependency_trees import tree_problems
from strukt.data.conllu.rules import comment, parse, with_comment
from strukt.data.files import Source
from strukt.data.files.problems import Problem, stop
from strukt.data.sentence import Cell, cells


class Sentence(classes.Sentence):
    r"""A sentence of a CoNLL-U file; a comment may give its class.

    Attributes:
        plain: The same sentence as plain CoNLL-U, in which the class is an ordinary comment.

    Examples:
        >>> from strukt.data.conllu.sentence_labels import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"# label = negative\n1\tTepid" + b"\t_" * 8 + b"\n\n"))
        >>> sentence.label, sentence.forms
        ('negative', ['Tepid'])
        >>> sentence.annotated(label="positive", p="0.9000").plain.comments
        ['# label = positive', '# p = 0.9000']
    """

    __slots__ = ("plain",)
    remedy: ClassVar[str] = "add the comment # label = CLASS"

    def __init__(self, plain: reading.Sentence) -> None:
        super().__init__(plain.block)
        self.plain = plain

    @property
    def forms(self) -> list[str]:
        """The FORM column."""
        return self.plain.forms

    @property
    def label(self) -> str | None:
        """The class in the comment; None if there is no such comment, or it is empty."""
        matches = (comment("label").fullmatch(line) for line in self.plain.comments)
        return next((match[1].strip() for match in matches if match), "") or None

    @override
    def problems(self) -> Iterator[Problem]:
        """Yield a problem if there is no class, and the problems of the heads if any word has a head."""
        yield from super().problems()
        if any(word.head is not None for word in self.plain.words):
            yield from self.head_problems()

    def head_problems(self) -> Iterator[Problem]:
        """Yield the problems that `conllu.tree_problems` reports, except missing relations."""
        return (problem for problem in tree_problems(self.plain) if problem.rule != "deprel")

    def column(self, name: str) -> list[str]:
        """Return one column of the words as text, as `conllu.Sentence.column` does.

        Raises:
            ValueError: If there is no such column.
        """
        return self.plain.column(name)

    def annotated(self, *, label: str | None = None, **notes: Cell) -> Sentence:
        """Return a copy with this class and a comment `# key = value` for each note, in place of earlier ones.

        If the class is None, it stays as it is.

        Raises:
            ValueError: If the class or a note is blank, or cannot be written to a file.
        """
        said = ({} if label is None else {"label": label}) | notes
        lines = list(self.block.lines)
        for key, value in said.items():
            if not str(value).strip():
                raise ValueError(f"{key}: {value!r} is blank; give text that can be read from a comment")
            lines = with_comment(lines, key, *cells(key, [value], 1))
        block = replace(self.block, lines=lines)
        return Sentence(reading.Sentence(block, parse(block, stop)))

    def with_misc(self, **values: Sequence[Any]) -> Sentence:
        """Return a copy with `key=value` added to MISC, as `conllu.Sentence.with_misc` does.

        Raises:
            ValueError: If there is not one value for each word, or a value cannot be written to a file.
        """
        return Sentence(self.plain.with_misc(**values))


def read(source: Source) -> Iterator[Sentence]:
    r"""Read CoNLL-U with classes lazily and losslessly, as `conllu.read` does.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is empty or is not well-formed. The error names file and line.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"# label = negative\n1\tTepid" + b"\t_" * 8 + b"\n\n"))
        >>> sentence.label, sentence.forms
        ('negative', ['Tepid'])
    """
    return map(Sentence, reading.read(source))
