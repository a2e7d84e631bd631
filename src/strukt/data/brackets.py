"""Lossless reading and writing of bracketed trees (Penn Treebank style); plain text is read as flat trees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from strukt.data import sentence
from strukt.data.constituents import TRACE, BracketError, Tree, unescape
from strukt.data.constituents.bracket_syntax import TOKEN
from strukt.data.files import Source
from strukt.data.files.blocks import Block
from strukt.data.files.line_blocks import text_blocks
from strukt.data.files.line_reader import LineReader
from strukt.data.files.problems import Problem, Report, stop
from strukt.data.sentence import Cell

TOPS = ("ROOT", "TOP", "S1")
"""Labels that occur only on the outermost bracket of a tree."""

_TOP = re.compile(rf"\((?:{'|'.join(TOPS)})(?:[\s(]|$)")
_BEGIN = re.compile(rf"{_TOP.pattern}|\(\s*\(")


class Sentence(sentence.Sentence):
    r"""A tree of a bracket file, in its original layout, with the blank line after it if there is one.

    Attributes:
        tree: The tree, with its traces.

    Examples:
        >>> from strukt.data.brackets import read
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"(ROOT\n  (VP (VB Stop)))\n"))
        >>> sentence.forms, str(sentence.tree)
        (['Stop'], '(ROOT (VP (VB Stop)))')
    """

    __slots__ = ("tree",)

    def __init__(self, block: Block, tree: Tree) -> None:
        super().__init__(block)
        self.tree = tree

    @property
    def forms(self) -> list[str]:
        """The words in the form of running text: `(` for `-LRB-`, and no traces."""
        return self.column("form")

    def column(self, name: str) -> list[str]:
        """Return the column "form" or "tag", without traces.

        Raises:
            ValueError: If there is no such column.
        """
        if name not in ("form", "tag"):
            raise ValueError(f"a tree has no column {name!r}; choose form or tag")
        leaves = [node for node in self.tree.nodes if node.word is not None and node.label != TRACE]
        return [unescape(node.word or "") if name == "form" else node.label for node in leaves]

    def annotated(self, *, tree: Tree | None = None, **columns: Sequence[Cell]) -> Sentence:
        r"""Return a copy with another tree over the same words, written on one line.

        If the tree is unchanged, so is the text.

        Raises:
            ValueError: If the words differ, the tree is None, or columns are named: a tree has none to replace.

        Examples:
            >>> from strukt.data.brackets import read_text
            >>> from strukt.data.constituents import Tree
            >>> import io
            >>> [sentence] = read_text(io.BytesIO(b"It works\n"))
            >>> sentence
            <brackets sentence of 2 words, <stream>:1>
            >>> tree = Tree.build(sentence.forms, ["PRP", "VBZ"], [(0, 2, "S")])
            >>> str(sentence.annotated(tree=tree))
            '(S (PRP It) (VBZ works))\n'
        """
        if tree is None or columns:
            raise ValueError(f"a tree has no columns to replace, got {sorted(columns)}; give tree=")
        if tree == self.tree:
            return self
        blank = [text for text in self.block.lines[-1:] if _is_blank(text)]
        changed = Sentence(replace(self.block, lines=[str(tree), *blank]), tree)
        if changed.forms != self.forms:
            raise ValueError("tree: its words are not those of the sentence; give a tree over these words")
        return changed

    def with_misc(self, **values: Sequence[Cell]) -> Sentence:
        """Raise a ValueError: a tree has no place for notes on its words."""
        raise ValueError(f"a tree has no place for notes, got {sorted(values)}; use CoNLL-U for them")

    def __str__(self) -> str:
        # The lines include the blank line after the tree, which is optional in a bracket file.
        return "\n".join([*self.block.lines, ""])


def read(source: Source) -> Iterator[Sentence]:
    r"""Read bracketed trees lazily: each as soon as the line after it is available, in constant memory.

    A tree may span any number of lines, with or without a blank line after it. It ends when its brackets are
    closed, but at the latest before a blank line or a line that begins with `(ROOT`, `(TOP`, `(S1` or `((`: a
    missing bracket is thus reported where it is missing. Some problems are repaired, with a `DataWarning` each: a
    byte order mark and blank lines that end no tree are dropped, and CRLF line ends are read as LF. A missing LF
    at the end of the file is added.

    Args:
        source: A path, `-` for standard input, or an open stream; gzip is recognised by its content.

    Raises:
        DataError: If the file cannot be read, is empty, or contains anything but trees with words. The error names
            file and line.

    Examples:
        >>> import io
        >>> text = b"(S (VP (VB Go)))\n( (X (UH Oh)\n     (UH no)))\n\n"
        >>> sentences = list(read(io.BytesIO(text)))
        >>> [sentence.forms for sentence in sentences]
        [['Go'], ['Oh', 'no']]
        >>> "".join(map(str, sentences)).encode() == text
        True
    """
    for block in blocks(source):
        if tree := parse(block, stop):
            yield Sentence(block, tree)


def read_text(source: Source) -> Iterator[Sentence]:
    r"""Read plain text, one sentence per line, as trees without constituents; white space separates words.

    Every word is tagged X; `annotated` replaces the tree. Round brackets in the text become `-LRB-` and `-RRB-`,
    as is usual in trees. Blank lines are skipped.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, is not UTF-8 text, has no sentences, or contains trees.

    Examples:
        >>> import io
        >>> [str(sentence) for sentence in read_text(io.BytesIO(b"It works\n"))]
        ['( (X It) (X works))\n']
    """
    for block in text_blocks(source):
        (text,) = block.lines
        if is_tree(text):
            message = "expected plain text, found a tree"
            stop(Problem("tree", message, "read it as brackets, not as text", block.path, block.line))
        words = text.split()
        tree = Tree.build(words, ["X"] * len(words), [])
        yield Sentence(replace(block, lines=[str(tree)]), tree)


def blocks(source: Source, report: Report = stop) -> Iterator[Block]:
    """Yield the lines of each tree, and the blank line after it if there is one.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem.

    Raises:
        DataError: If `files.lines` raises it; with the default report, also if the file is empty.
    """
    reader = LineReader(source, report, "tree", _is_blank)
    pending: list[str] = []
    depth = number = 0
    for number, text in reader:
        is_blank = _is_blank(text)
        if pending and (is_blank or depth <= 0 or _BEGIN.match(text)):
            yield Block([*pending, text] if is_blank else pending, "", reader.path, number - len(pending))
            pending, depth = [], 0
        elif is_blank:
            reader.drop_blank(number)
        if not is_blank:
            pending.append(text)
            depth += text.count("(") - text.count(")")
    if pending:
        yield Block(pending, "", reader.path, number - len(pending) + 1)


def parse(block: Block, report: Report) -> Tree | None:
    """Parse the tree in the lines of a block; if there is a problem, report it and return None."""
    text = "\n".join(block.lines)
    try:
        tree = Tree.parse(text)
    except BracketError as error:
        line = block.line + text.count("\n", 0, error.offset)
        report(Problem(error.rule, error.message, error.remedy, block.path, line))
        return None
    if all(tag == TRACE for tag in tree.tags):
        report(Problem("no-words", "the tree has traces and no word", "delete it", block.path, block.line))
        return None
    return tree


def is_tree(text: str) -> bool:
    """Return True if a line is a tree of two or more pairs of brackets, or begins with `(ROOT`, `(TOP` or `(S1`.

    Any other single pair of brackets counts as text.

    Examples:
        >>> is_tree("(NP (NN tea))"), is_tree("(ROOT"), is_tree("(see below)")
        (True, True, False)
    """
    if _TOP.match(text):
        return True
    try:
        Tree.parse(text)
    except BracketError:
        return False
    return text.count("(") > 1


def _is_blank(text: str) -> bool:
    """Return True if a line has no brackets and no words; no-break spaces count as words."""
    return TOKEN.search(text) is None
