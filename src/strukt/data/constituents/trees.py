"""Constituency trees as flat sequences of nodes, so that their depth is not limited."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from strukt.data.constituents.bracket_syntax import BracketError, Node, parse

__all__ = ["TRACE", "BracketError", "Constituent", "Node", "Tree", "escape", "unescape"]

TRACE = "-NONE-"
"""The tag of traces and other leaves that are in the tree but not in the sentence."""

_ATOM = re.compile(r"[^\s()]+", re.ASCII)
_WHITE_SPACE = re.compile(r"\s+", re.ASCII)
_FUNCTIONS = re.compile(r"(?<=.)[-=].*")


class Constituent(NamedTuple):
    """A span of words with a `label`: `start` counts from 0, `end` is exclusive.

    Examples:
        >>> from strukt.data.constituents import Tree
        >>> Tree.parse("(S (PRP It) (VP (VBZ works)))").constituents[1]
        Constituent(start=1, end=2, label='VP')
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, repr=False)
class Tree:
    """A constituency tree; immutable. Make one with `parse` or `build`.

    Attributes:
        nodes: All nodes in pre-order: outer before inner, left before right. The first one
            is a constituent over all words; only it may have an empty label. If two nodes have the same
            span, the outer one comes first.

    Examples:
        >>> tree = Tree.parse("(ROOT (S (NP-SBJ (PRP It)) (VP (VBZ works))))")
        >>> tree.words, tree.tags
        (['It', 'works'], ['PRP', 'VBZ'])
        >>> tree.constituents[2]
        Constituent(start=0, end=1, label='NP-SBJ')
        >>> print(tree.without_functions())
        (ROOT (S (NP (PRP It)) (VP (VBZ works))))
    """

    nodes: tuple[Node, ...]

    @classmethod
    def parse(cls, text: str) -> Tree:
        """Parse a bracketed tree; white space and line ends between brackets do not matter.

        Raises:
            BracketError: If the text is not exactly one tree. This is a ValueError that says what is wrong and
                where.

        Complexity: linear in the text, at any depth.
        """
        return cls(parse(text))

    @classmethod
    def build(
        cls, words: Sequence[str], tags: Sequence[str], constituents: Iterable[tuple[int, int, str]]
    ) -> Tree:
        """Build a tree from its words, their tags, and the constituents in pre-order.

        If no constituent covers all words, one with an empty label is added. Words and tags are escaped by
        `escape`.

        Args:
            words: The n words of the sentence, at least one.
            tags: The n tags of the words.
            constituents: Start, end and label of each constituent; if two have the same span, the outer one comes
                first.

        Raises:
            ValueError: If the numbers of words and tags differ or are 0; if a constituent is not a span of the
                words, crosses another, or is out of order; or if a label cannot be written in a tree.

        Complexity: O(n + constituents).

        Examples:
            >>> print(Tree.build(["It", "works"], ["PRP", "VBZ"], [(0, 2, "S"), (1, 2, "VP")]))
            (S (PRP It) (VP (VBZ works)))
            >>> print(Tree.build(["Oh", "dear"], ["UH", "UH"], []))
            ( (UH Oh) (UH dear))
        """
        leaves = _leaves(words, tags)
        nodes: list[Node] = []
        begun: list[int] = []  # ends of the enclosing constituents, outermost first
        placed = 0
        for start, end, label in _covered(constituents, len(leaves)):
            while begun and begun[-1] <= start:
                begun.pop()
            if not placed <= start < end <= (begun[-1] if begun else len(leaves)):
                raise _no_span(start, end, label, len(leaves))
            if not _ATOM.fullmatch(label) and (label or nodes):
                raise ValueError(f"constituents: the label {label!r} is empty or has white space or brackets")
            nodes += [*leaves[placed:start], Node(label, start, end)]
            begun.append(end)
            placed = start
        return cls((*nodes, *leaves[placed:]))

    @property
    def words(self) -> list[str]:
        """The words of the leaves, including traces, as they are written in the tree (see `escape`)."""
        return [node.word for node in self.nodes if node.word is not None]

    @property
    def tags(self) -> list[str]:
        """The tags of the leaves, including traces."""
        return [node.label for node in self.nodes if node.word is not None]

    @property
    def constituents(self) -> list[Constituent]:
        """All nodes except the preterminals, in pre-order."""
        return [Constituent(start, end, label) for label, start, end, word in self.nodes if word is None]

    def without_traces(self) -> Tree:
        """Return the tree without the leaves tagged `-NONE-` and the nodes left without leaves.

        Raises:
            ValueError: If all leaves are traces.

        Examples:
            >>> print(Tree.parse("(S (NP (-NONE- *)) (VP (VB Go)))").without_traces())
            (S (VP (VB Go)))
        """
        return self.without({TRACE})

    def without(self, left_out: Container[str]) -> Tree:
        """Return the tree without the leaves whose tag is in `left_out` and the nodes left without leaves.

        Raises:
            ValueError: If no leaves remain.

        Examples:
            >>> print(Tree.parse("(S (VP (VB Go)) (. .))").without({".", ","}))
            (S (VP (VB Go)))
        """
        kept = list(accumulate((tag not in left_out for tag in self.tags), initial=0))
        if kept[-1] == 0:
            tags = " ".join(sorted(set(self.tags)))
            raise ValueError(f"the tree has no leaves but those tagged {tags}; give it a word")
        spans = ((node, kept[node.start], kept[node.end]) for node in self.nodes)
        return Tree(tuple(Node(node.label, i, j, node.word) for node, i, j in spans if i < j))

    def without_functions(self) -> Tree:
        """Return the tree with each constituent label cut at its first `-` or `=`: `NP-SBJ=2` becomes `NP`.

        Labels that begin with `-` stay, and so do tags: the meaning of a hyphen in a tag depends on the tag set.
        """
        return Tree(tuple(_without_functions(node) for node in self.nodes))

    def __str__(self) -> str:
        pieces: list[str] = []
        begun: list[int] = []
        for label, start, end, word in self.nodes:
            while begun and begun[-1] <= start:
                begun.pop()
                pieces.append(")")
            pieces.append(f" ({label}" if begun else f"({label}")
            if word is None:
                begun.append(end)
            else:
                pieces.append(f" {word})")
        return "".join([*pieces, ")" * len(begun)])

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"


def escape(word: str) -> str:
    """Return a word as it is written in a tree: with `-LRB-`, `-RRB-`, and `_` for a run of white space.

    Only round brackets and ASCII white space are replaced.

    Examples:
        >>> escape("Governor(s)"), escape("10 000")
        ('Governor-LRB-s-RRB-', '10_000')
    """
    return _WHITE_SPACE.sub("_", word.replace("(", "-LRB-").replace(")", "-RRB-"))


def unescape(word: str) -> str:
    """Return a word of a tree with `(` for `-LRB-` and `)` for `-RRB-`; `_` stays, since words may contain it.

    Examples:
        >>> unescape("Governor-LRB-s-RRB-")
        'Governor(s)'
    """
    return word.replace("-LRB-", "(").replace("-RRB-", ")")


def _leaves(words: Sequence[str], tags: Sequence[str]) -> list[Node]:
    """Return a preterminal for each word, with word and tag escaped; raise ValueError if there cannot be one."""
    if len(words) != len(tags):
        raise ValueError(f"got {len(words)} words and {len(tags)} tags; give one tag for each word")
    if not words or "" in words or "" in tags:
        raise ValueError("words: a tree has at least one word, and no empty word or tag")
    pairs = enumerate(zip(words, tags, strict=True))
    return [Node(escape(tag), index, index + 1, escape(word)) for index, (word, tag) in pairs]


def _covered(constituents: Iterable[tuple[int, int, str]], length: int) -> list[tuple[int, int, str]]:
    """Return the constituents, after one with an empty label over all words if the first does not cover them."""
    spans = list(constituents)
    return spans if spans and spans[0][:2] == (0, length) else [(0, length, ""), *spans]


def _no_span(start: int, end: int, label: str, length: int) -> ValueError:
    """Return the error for a constituent that is outside the words, crosses another, or is out of order."""
    if not 0 <= start < end <= length:
        expected = f"is not a span of {length} words"
    else:
        expected = "crosses one before it, or stands after one that it contains"
    return ValueError(f"constituents: {label} from {start} to {end} {expected}; give them in pre-order")


def _without_functions(node: Node) -> Node:
    if node.word is not None or node.label.startswith("-"):
        return node
    return node._replace(label=_FUNCTIONS.sub("", node.label))
