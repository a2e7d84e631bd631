"""Lossless binarisation of constituency trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from strukt.data.constituents.trees import Constituent, Node, Tree

EMPTY = ""
"""The label of a span that is not a constituent."""


def binarise(tree: Tree) -> list[Constituent]:
    """Return the 2n - 1 spans of a binary tree over the n leaves, in pre-order.

    A chain of constituents over the same words (a unary chain) becomes one label: outermost first, joined by
    spaces. A node with more than two children branches to the right: its first child becomes the sibling of a span
    labelled `EMPTY` over the other children. A leaf that is not a constituent is `EMPTY`, too. Tags are left out.

    Complexity: linear in the tree, at any depth.

    Examples:
        >>> for start, end, label in binarise(Tree.parse("(ROOT (S (X a) (NP (X b)) (X c)))")):
        ...     print(start, end, repr(label))
        0 3 'ROOT S'
        0 1 ''
        1 3 ''
        1 2 'NP'
        2 3 ''
    """
    spans: list[Constituent] = []
    around: list[tuple[int, int]] = []  # spans that contain the current one, outermost first
    for (start, end), chain in groupby(tree.nodes, _span):
        while around and around[-1][1] <= start:
            around.pop()
        if around:
            first, last = around[-1]
            if first < start and end < last:
                spans.append(Constituent(start, last, EMPTY))
        label = " ".join(node.label for node in chain if node.word is None)
        spans.append(Constituent(start, end, label))
        around.append((start, end))
    return spans


def restore(words: Sequence[str], tags: Sequence[str], spans: Iterable[tuple[int, int, str]]) -> Tree:
    """Undo `binarise`: `restore(tree.words, tree.tags, binarise(tree)) == tree`.

    Spans labelled `EMPTY` are left out, and a joined label becomes a chain of constituents again. Any binary tree
    in pre-order is accepted, however it branches. If the label of its outermost span is `EMPTY`, so is that of the
    outermost bracket of the result.

    Args:
        words: The n words of the sentence.
        tags: The n tags of the words.
        spans: Start, end and label of the spans in pre-order.

    Raises:
        ValueError: If the numbers of words and tags differ or are 0; if a span is outside the sentence, crosses
            another or is out of order; or if a label cannot be written in a tree.

    Complexity: O(n + total length of the chains).

    Examples:
        >>> print(restore(["a", "b"], ["X", "X"], [(0, 2, "ROOT S"), (0, 1, ""), (1, 2, "NP")]))
        (ROOT (S (X a) (NP (X b))))
    """
    chains = ((start, end, label.split(" ")) for start, end, label in spans if label != EMPTY)
    constituents = [Constituent(start, end, label) for start, end, labels in chains for label in labels]
    return Tree.build(words, tags, constituents)


def _span(node: Node) -> tuple[int, int]:
    return node.start, node.end
