"""Pairs of parsed sentences in CoNLL-U, for natural language inference (NLI): a premise, then its hypothesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from typing_extensions import override

from strukt.data.classes.pairs import Pair
from strukt.data.conllu import sentence_labels
from strukt.data.files import Source
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.sentence import Cell


class TreePair(Pair):
    r"""Two sentences of a CoNLL-U file; the class is a comment `# label = entailment` on the first one.

    Attributes:
        first: The premise.
        second: The hypothesis.

    Examples:
        >>> from strukt.data.conllu.tree_pairs import read
        >>> import io
        >>> rest = "\t_" * 4 + "\t0" + "\t_" * 3 + "\n\n"
        >>> [pair] = read(io.StringIO(f"# label = entailment\n1\tSleep{rest}1\tRest{rest}"))
        >>> pair.premise, pair.hypothesis, pair.label, pair.heads
        (['Sleep'], ['Rest'], 'entailment', ([0], [0]))
    """

    __slots__ = ("first", "second")
    remedy: ClassVar[str] = "add the comment # label = CLASS before the premise"

    def __init__(self, first: sentence_labels.Sentence, second: sentence_labels.Sentence) -> None:
        super().__init__(first.block, first.forms, second.forms)
        self.first, self.second = first, second

    @property
    def label(self) -> str | None:
        """The class in the comment of the premise; None if there is none."""
        return self.first.label

    @property
    def heads(self) -> tuple[list[int], list[int]]:
        """The HEAD columns of both sentences.

        Raises:
            DataError: If a head is missing, or the heads are not a tree.
        """
        for sentence in (self.first, self.second):
            for problem in sentence.head_problems():
                raise problem.error()
        return self.first.plain.heads, self.second.plain.heads

    @override
    def problems(self) -> Iterator[Problem]:
        """Yield a problem if there is no class, and the problems of the heads of each sentence that has any."""
        yield from self.first.problems()
        yield from (problem for problem in self.second.problems() if problem.rule != "label")

    def column(self, name: str) -> list[str]:
        """Return one column of the words of the premise, then of the hypothesis.

        Raises:
            ValueError: If there is no such column.
        """
        return self.first.column(name) + self.second.column(name)

    def annotated(self, *, label: str | None = None, **notes: Cell) -> TreePair:
        """Return a copy with this class, and with a comment `# key = value` on the premise for each note.

        If the class is None, it stays as it is.

        Raises:
            ValueError: If the class or a note is blank, or cannot be written to a file.
        """
        return TreePair(self.first.annotated(label=label, **notes), self.second)

    def with_misc(self, **values: Sequence[Cell]) -> TreePair:
        """Return a copy with `key=value` added to MISC: a value for each word of the premise, then the hypothesis.

        Raises:
            ValueError: If there is not one value for each word, or a value cannot be written to a file.
        """
        count = len(self.premise)
        first = self.first.with_misc(**{key: each[:count] for key, each in values.items()})
        return TreePair(first, self.second.with_misc(**{key: each[count:] for key, each in values.items()}))

    def __str__(self) -> str:
        return f"{self.first}{self.second}"


def read(source: Source) -> Iterator[TreePair]:
    r"""Read the sentences of a CoNLL-U file as consecutive pairs, lazily and losslessly.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is empty or is not well-formed, or a premise has no hypothesis. The
            error names file and line.

    Examples:
        >>> import io
        >>> rest = "\t_" * 8 + "\n\n"
        >>> [pair] = read(io.StringIO(f"# label = entailment\n1\tSleep{rest}1\tRest{rest}"))
        >>> pair.premise, pair.hypothesis, pair.label
        (['Sleep'], ['Rest'], 'entailment')
    """
    return paired(sentence_labels.read(source))


def paired(sentences: Iterator[sentence_labels.Sentence], report: Report = stop) -> Iterator[TreePair]:
    """Yield the sentences as consecutive pairs.

    Args:
        sentences: A premise, its hypothesis, the next premise, and so on.
        report: Called if the last premise has no hypothesis; if it returns, this premise is left out.

    Raises:
        DataError: If the last premise has no hypothesis, with the default `report`.
    """
    for first in sentences:
        second = next(sentences, None)
        if second is None:
            message, remedy = "the premise has no hypothesis", "write it as the next sentence"
            report(Problem("pair", message, remedy, first.path, first.line))
        else:
            yield TreePair(first, second)
