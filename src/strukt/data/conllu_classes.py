"""Classes in CoNLL-U, as the comment `# label = positive` before the words of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from strukt.data import classes, conllu
from strukt.data.blocks import Block
from strukt.data.conllu_rules import parse
from strukt.data.files import Source
from strukt.data.problems import Problem, stop
from strukt.data.sentence import Cell, cells


class Sentence(classes.Sentence):
    r"""A sentence of a CoNLL-U file, of a class if a comment says so.

    Attributes:
        plain: The same sentence without regard to its class.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"# label = negative\n1\tTepid" + b"\t_" * 8 + b"\n\n"))
        >>> sentence.label, sentence.forms
        ('negative', ['Tepid'])
        >>> sentence.annotated(label="positive", p="0.9000").plain.comments
        ['# label = positive', '# p = 0.9000']
    """

    __slots__ = ("plain",)
    remedy: ClassVar[str] = "add the comment # label = CLASS"

    def __init__(self, plain: conllu.Sentence) -> None:
        super().__init__(plain.block)
        self.plain = plain

    @property
    def forms(self) -> list[str]:
        """The FORM column."""
        return self.plain.forms

    @property
    def label(self) -> str | None:
        """The class in the comment."""
        found = [match[1] for line in self.plain.comments if (match := _comment("label").fullmatch(line))]
        return found[0] if found else None

    @override
    def problems(self) -> Iterator[Problem]:
        """That it has no class, and if any word has a head, that these are no tree."""
        yield from super().problems()
        if any(word.head is not None for word in self.plain.words):
            yield from self.head_problems()

    def head_problems(self) -> Iterator[Problem]:
        """What keeps the heads from being a tree with one root; relations are not read."""
        return (problem for problem in conllu.tree_problems(self.plain) if problem.rule != "deprel")

    def column(self, name: str) -> list[str]:
        """One column of the words as text, as `conllu.Sentence.column`.

        Raises:
            ValueError: There is no such column.
        """
        return self.plain.column(name)

    def annotated(self, *, label: str | None = None, **notes: Cell) -> Sentence:
        """A copy of this class, with a comment `# key = value` for each note; earlier ones are replaced.

        Raises:
            ValueError: The class or a note cannot stand in a file.
        """
        said = ({} if label is None else {"label": label}) | notes
        lines = list(self.block.lines)
        for key, value in said.items():
            lines = _with_comment(lines, key, *cells(key, [value], 1))
        block = Block(lines, self.block.end, self.path, self.line)
        return Sentence(conllu.Sentence(block, parse(block, stop)))

    def with_misc(self, **values: Sequence[Any]) -> Sentence:
        """A copy with `key=value` added to MISC, as `conllu.Sentence.with_misc`."""
        return Sentence(self.plain.with_misc(**values))


def read(source: Source) -> Iterator[Sentence]:
    """Reads CoNLL-U with classes lazily and without loss, as `conllu.read`.

    Raises:
        DataError: The file cannot be read or is not well-formed; with its name and the line.
    """
    return map(Sentence, conllu.read(source))


def _comment(key: str) -> re.Pattern[str]:
    return re.compile(rf"#\s*{re.escape(key)}\s*=\s*(.*?)\s*")


def _with_comment(lines: Sequence[str], key: str, value: str) -> list[str]:
    """The lines of a sentence with this comment in the place of those of the same key, or before the words."""
    old = [index for index, line in enumerate(lines) if _comment(key).fullmatch(line)]
    place = old[0] if old else sum(line.startswith("#") for line in lines)
    kept = [line for index, line in enumerate(lines) if index >= place and index not in old]
    return [*lines[:place], f"# {key} = {value}", *kept]
