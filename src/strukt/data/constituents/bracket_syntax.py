"""Parsing bracketed trees without recursion, and explaining the faults of malformed trees."""

from __future__ import annotations

import re
from sys import intern
from typing import NamedTuple

from strukt.data.files.problems import PLAIN_TEXT

TOKEN = re.compile(r"[()]|[^\s()]+", re.ASCII)
"""A bracket, a label or a word. Only ASCII white space separates: a word may contain a no-break space."""


class Node(NamedTuple):
    """A bracket of a tree.

    Attributes:
        label: The label; for a preterminal, the tag of its word.
        start: Index of the first leaf below the node, counted from 0, including traces.
        end: Index of the last leaf below the node, plus 1.
        word: The word of a preterminal; None for all other nodes.

    Examples:
        >>> from strukt.data.constituents.bracket_syntax import parse
        >>> parse("(S (PRP It) (VP (VBZ works)))")[1:3]
        (Node(label='PRP', start=0, end=1, word='It'), Node(label='VP', start=1, end=2, word=None))
    """

    label: str
    start: int
    end: int
    word: str | None = None


class BracketError(ValueError):
    """A text is not a bracketed tree.

    Attributes:
        rule: Short name of the broken rule.
        message: The fault and what was expected.
        remedy: How to fix it.
        offset: Position of the fault in the text, in characters from 0.

    Examples:
        >>> from strukt.data.constituents.bracket_syntax import parse
        >>> try:
        ...     parse("(S (PRP It)")
        ... except BracketError as error:
        ...     error.rule, error.offset
        ('unbalanced', 0)
    """

    def __init__(self, rule: str, message: str, remedy: str, offset: int) -> None:
        super().__init__(f"{message}; {remedy}")
        self.rule = rule
        self.message = message
        self.remedy = remedy
        self.offset = offset


def parse(text: str) -> tuple[Node, ...]:
    """Return the nodes of the only tree in a text, in pre-order.

    The first node is a constituent: if the whole tree is a single `(TAG word)`, it is wrapped in a bracket without
    a label, as the Penn Treebank does.

    Raises:
        BracketError: If the text is not a tree.

    Complexity: linear in the text, at any depth.

    Examples:
        >>> parse("(NP (NN tea))")
        (Node(label='NP', start=0, end=1, word=None), Node(label='NN', start=0, end=1, word='tea'))
    """
    parser = _Parser()
    for match in TOKEN.finditer(text):
        parser.take(match[0], match.start())
    return parser.finish()


class _Parser:
    """Consume the tokens of a tree; node `index` is stored as `_labels[index]`, `_starts[index]` and so on."""

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._words: list[str | None] = []
        self._open: list[int] = []  # nodes not closed yet, outermost first
        self._leaves = 0
        self._before = ""  # the previous token

    def take(self, token: str, offset: int) -> None:
        if self._labels and not self._open:
            raise _after_tree(token, offset)
        if token == "(":
            self._begin(offset)
        elif not self._open:
            raise _no_tree(token, offset)
        elif token == ")":
            self._close(offset)
        elif self._before == "(":
            self._labels[-1] = intern(token)
        else:
            self._word(token, offset)
        self._before = token

    def finish(self) -> tuple[Node, ...]:
        if not self._labels:
            raise BracketError("no-tree", "there is no tree", "write one, such as (NP (NN tea))", 0)
        if self._open:
            count = len(self._open)
            message = (
                f"the tree is not closed: {count} closing bracket{'s are' if count > 1 else ' is'} missing"
            )
            raise BracketError("unbalanced", message, "close every bracket that is opened", 0)
        nodes = tuple(map(Node, self._labels, self._starts, self._ends, self._words))
        return nodes if nodes[0].word is None else (Node("", 0, 1), *nodes)

    def _begin(self, offset: int) -> None:
        """Open a node, whose label may follow."""
        if self._open:
            parent = self._open[-1]
            if self._words[parent] is not None:
                raise _bare_word(self._words[parent], offset)
            if self._before == "(" and parent:
                message = "a bracket inside the tree has no label"
                raise BracketError("label", message, "only the outermost may have none", offset)
        self._open.append(len(self._labels))
        self._labels.append("")
        self._starts.append(self._leaves)
        self._ends.append(-1)
        self._words.append(None)

    def _close(self, offset: int) -> None:
        """Close the innermost open node, which must have a word below it."""
        node = self._open.pop()
        if self._starts[node] == self._leaves:
            label = self._labels[node]
            problem = f"({label}) has a label and no word, or a word and no tag" if label else "() is empty"
            raise BracketError("leaf", problem, "write (TAG word)", offset)
        self._ends[node] = self._leaves

    def _word(self, token: str, offset: int) -> None:
        """Set the word of the innermost open node, which must have neither a word nor children."""
        node = self._open[-1]
        if (first := self._words[node]) is not None:
            message = f"the bracket {self._labels[node]} holds two words, {first!r} and {token!r}"
            raise BracketError("leaf", message, "give each word a bracket with its tag", offset)
        if node != len(self._labels) - 1:
            raise _bare_word(token, offset)
        self._words[node] = token
        self._leaves += 1


def _after_tree(token: str, offset: int) -> BracketError:
    """Return the error for a token after the end of the tree."""
    if token == "(":
        message = "a tree begins on the line where another one ends"
        return BracketError("second-tree", message, "begin each tree on a line of its own", offset)
    if token == ")":
        message = "there are more closing brackets than opening ones"
        return BracketError("unbalanced", message, "delete the last one, or open it", offset)
    return BracketError(
        "text", f"{token!r} follows the tree", "delete it, or put it into the tree", offset
    )


def _no_tree(token: str, offset: int) -> BracketError:
    """Return the error for a token in place of the bracket that opens the tree."""
    message = f"expected a tree in brackets, found {token!r}"
    remedy = f"write trees, such as (ROOT (NP (NN tea))); {PLAIN_TEXT}"
    return BracketError("no-tree", message, remedy, offset)


def _bare_word(word: str | None, offset: int) -> BracketError:
    """Return the error for a word that has siblings, so that its bracket has no tag."""
    message = f"the word {word!r} stands beside brackets and has no tag"
    return BracketError("leaf", message, "write (TAG word)", offset)
