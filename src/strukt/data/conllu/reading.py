"""Lossless reading and writing of CoNLL-U: comments, multiword tokens, empty nodes and enhanced graphs are kept.

Reading and validating are separate. `read` accepts every well-formed file, even without heads or tags, such as
text to be annotated; `dependency_trees.require_tree` checks what training and evaluating a parser need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from typing_extensions import override

from strukt.data import sentence
from strukt.data.conllu import constituency
from strukt.data.conllu.rules import COLUMNS, Word, parse, with_columns, with_comment
from strukt.data.constituents import Tree
from strukt.data.files import Source
from strukt.data.files.blocks import Block, blocks
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.parts import Part, check_parts, forbidden_in, without_forbidden
from strukt.data.sentence import Cell, add_note, cells, note_cells

_COMMENT = re.compile(r"#[^\n\r\0]*")


class Sentence(sentence.Sentence):
    """A sentence of a CoNLL-U file.

    Attributes:
        words: The syntactic words: the lines whose ID is a whole number.

    Examples:
        >>> from strukt.data.conllu import from_forms
        >>> sentence = from_forms(["It", "works"]).annotated(upos=["PRON", "VERB"], head=[2, 0])
        >>> sentence.forms, sentence.column("upos"), sentence.heads
        (['It', 'works'], ['PRON', 'VERB'], [2, 0])
    """

    __slots__ = ("words",)

    def __init__(self, block: Block, words: list[Word]) -> None:
        super().__init__(block)
        self.words = words

    @property
    def forms(self) -> list[str]:
        """The FORM column."""
        return [word.form for word in self.words]

    @property
    def heads(self) -> list[int]:
        """The HEAD column: for each of n words, a number from 0 to n; 0 is the root.

        Raises:
            DataError: If a word has no head.
        """
        heads = []
        for word in self.words:
            if word.head is None:
                raise no_head(self, word).error()
            heads.append(word.head)
        return heads

    @property
    def deprels(self) -> list[str]:
        """The DEPREL column."""
        return [word.deprel for word in self.words]

    @property
    def arcs(self) -> list[tuple[int, str]]:
        """The head and the relation of each word, as `metrics.AttachmentScore` expects them.

        Raises:
            DataError: If a word has no head.
        """
        return list(zip(self.heads, self.deprels, strict=True))

    @property
    def tree(self) -> Tree:
        """The constituency tree in the comment `# constituency = `.

        Raises:
            DataError: If there is no such comment, it is not a tree, or its words differ from those of the
                sentence.
        """
        tree = constituency.parse(self.block, self.words, stop)
        assert tree is not None, "stop has raised where there is no tree"
        return tree

    @property
    def forbidden(self) -> list[Part]:
        """The parts in comments such as `# forbidden = {"word": 2, "head": 0}`.

        Raises:
            DataError: If such a comment describes no part of a structure of the sentence.
        """
        return forbidden_in(self.block, len(self.words))

    @override
    def forbidden_problems(self) -> Iterator[Problem]:
        problems: list[Problem] = []
        forbidden_in(self.block, len(self.words), problems.append)
        yield from problems

    @override
    def forbidding(self, parts: Sequence[Part]) -> Sentence:
        check_parts(parts, len(self.words))
        return self.with_comments([part.comment() for part in parts])

    @override
    def completed(self, *kinds: str) -> Sentence:
        lines = without_forbidden(self.block.lines, kinds, len(self.words))
        return self if lines == self.block.lines else _sentence(replace(self.block, lines=lines))

    def with_comments(self, comments: Sequence[str]) -> Sentence:
        """Return a copy with further comments after the present ones.

        Raises:
            ValueError: If a comment is not a single line that begins with `#`, or contains NUL.

        Examples:
            >>> from strukt.data.conllu import from_forms
            >>> from_forms(["Stop"], ["# text = Stop"]).with_comments(["# source = a sign"]).comments
            ['# text = Stop', '# source = a sign']
        """
        _require_comments(comments)
        place = sum(text.startswith("#") for text in self.block.lines)
        lines = [*self.block.lines[:place], *comments, *self.block.lines[place:]]
        return _sentence(replace(self.block, lines=lines))

    @property
    def comments(self) -> list[str]:
        """The comment lines before the words, including the `#`."""
        return [text for text in self.block.lines if text.startswith("#")]

    @property
    def multiword_tokens(self) -> list[list[str]]:
        """The ten columns of each line whose ID is a range such as `1-2`."""
        return [row for row in self._rows() if "-" in row[0]]

    @property
    def empty_nodes(self) -> list[list[str]]:
        """The ten columns of each line whose ID is a decimal such as `8.1`."""
        return [row for row in self._rows() if "." in row[0]]

    def column(self, name: str) -> list[str]:
        """Return one column of the words as text, `_` for a missing value; `name` is one of `COLUMNS`.

        Raises:
            ValueError: If there is no such column.
        """
        _index(name)
        values = [getattr(word, name) for word in self.words]
        return ["_" if value is None else str(value) for value in values]

    def annotated(self, *, tree: Tree | None = None, **columns: Sequence[Cell]) -> Sentence:
        r"""Return a copy with new values in the named columns of the words, and with `tree` unless it is None.

        All other comments, multiword tokens, empty nodes and columns are kept byte for byte.

        Raises:
            ValueError: If there is no such column or it is the ID, there is not one value for each word, or a
                value cannot be written to a file; or if the words of the tree differ from those of the sentence.
            DataError: If a head is neither `_` nor a number from 0 to the number of words.

        Examples:
            >>> from strukt.data.conllu import from_forms
            >>> str(from_forms(["Stop"]).annotated(upos=["VERB"]))
            '1\tStop\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n'
        """
        texts = {_index(name): cells(name, values, len(self.words)) for name, values in columns.items()}
        if 0 in texts:
            raise ValueError("id: the numbering of the words cannot be replaced; name another column")
        lines = list(self.block.lines)
        for position, word in enumerate(self.words):
            row = lines[word.line - self.line].split("\t")
            for index, values in texts.items():
                row[index] = values[position]
            lines[word.line - self.line] = "\t".join(row)
        if tree is not None:
            lines = self._with_tree(lines, tree)
        block = replace(self.block, lines=lines)
        words = with_columns(self.words, texts) if tree is None else None
        return _sentence(block) if words is None else Sentence(block, words)

    def with_misc(self, **values: Sequence[Cell]) -> Sentence:
        """Return a copy with `key=value` added to MISC; an earlier value of the key is replaced, other notes stay.

        Raises:
            ValueError: If a key or value contains `|`, or `annotated` raises it.

        Examples:
            >>> from strukt.data.conllu import from_forms
            >>> from_forms(["Stop"]).with_misc(TagProbability=["0.93"]).column("misc")
            ['TagProbability=0.93']
        """
        misc = self.column("misc")
        for key, notes in values.items():
            texts = note_cells(key, notes, len(self.words))
            misc = [add_note(old, key, text) for old, text in zip(misc, texts, strict=True)]
        return self.annotated(misc=misc)

    def _with_tree(self, lines: list[str], tree: Tree) -> list[str]:
        """Return the lines with a tree in a comment; raise ValueError if the sentence has other words."""
        if message := constituency.difference(tree, self.words):
            raise ValueError(f"tree: {message}; give a tree over the words of the sentence")
        return with_comment(lines, constituency.KEY, tree)

    def _rows(self) -> Iterator[list[str]]:
        """Yield the columns of each line that is not a comment."""
        return (text.split("\t") for text in self.block.lines if not text.startswith("#"))


def read(source: Source) -> Iterator[Sentence]:
    r"""Read CoNLL-U lazily: each sentence as soon as the blank line after it is available, in constant memory.

    Heads and tags may be missing (`_`), and heads need not form a tree (see `require_tree`). Some problems are
    repaired, with a `DataWarning` each: a byte order mark, blank lines that end no sentence and white space in a
    blank line are dropped, CRLF line ends are read as LF, and a missing blank line at the end is added.

    Args:
        source: A path, `-` for standard input, or an open stream; gzip is recognised by its content.

    Raises:
        DataError: If the file cannot be read, is empty or is not well-formed. The error names file and line.

    Examples:
        >>> import io
        >>> text = b"# text = Stop\n1\tStop\tstop\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
        >>> [sentence] = read(io.BytesIO(text))
        >>> sentence.words[0].lemma, str(sentence).encode() == text
        ('stop', True)
    """
    for block in blocks(source):
        yield _sentence(block_without_space(block, stop))


def from_forms(
    forms: Sequence[str], comments: Sequence[str] = (), path: str | None = None, line: int = 1
) -> Sentence:
    """Return a sentence that has word forms only, ready to be annotated.

    Args:
        forms: The words, at least one; they may contain spaces.
        comments: Lines before the words, each beginning with `#`.
        path: The file that the text comes from, used in messages.
        line: The number of the sentence's first line in that file.

    Raises:
        ValueError: If forms is a string, there are no forms, a form cannot be written to a file, or a comment is
            not a single line that begins with `#`, or contains NUL.

    Examples:
        >>> from_forms(["New York", "grew"], ["# text = New York grew"]).forms
        ['New York', 'grew']
    """
    if not forms:
        raise ValueError("forms: got no word; a sentence has at least one")
    _require_comments(comments)
    texts = enumerate(cells("forms", forms, len(forms)), 1)
    rows = [f"{position}\t{form}" + "\t_" * 8 for position, form in texts]
    return _sentence(Block([*comments, *rows], "", path, line))


def _require_comments(comments: Sequence[str]) -> None:
    if any(not _COMMENT.fullmatch(comment) for comment in comments):
        raise ValueError("comments: got one that is not a single line beginning with '#'")


def block_without_space(block: Block, report: Report) -> Block:
    """Remove white space from the blank line that ends a sentence, and report it: CoNLL-U does not allow it."""
    if not block.end:
        return block
    line = block.line + len(block.lines)
    message, repair = "the line holds only white space", "reading it as the end of the sentence"
    report(Problem("white-space", message, repair, block.path, line, repaired=True))
    return replace(block, end="")


def _sentence(block: Block) -> Sentence:
    return Sentence(block, parse(block, stop))


def _index(name: str) -> int:
    if name not in COLUMNS:
        raise ValueError(f"CoNLL-U has no column {name!r}; choose one of {', '.join(COLUMNS)}")
    return COLUMNS.index(name)


def no_head(sentence: Sentence, word: Word) -> Problem:
    """Return the problem to report if a word has no head."""
    message = f"word {word.id}, {word.form!r}, has no head"
    remedy = "fill in the column HEAD, 0 for the root, or train with --partial"
    return Problem("head", message, remedy, sentence.path, word.line)
