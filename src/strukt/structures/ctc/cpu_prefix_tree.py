"""The texts of CTC prefix beam search as a tree (a trie), with the state of the language model at each node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner
from strukt.structures.ctc.ngrams import Ngrams, follow


class Tree(NamedTuple):
    """All texts that were ever on the beam, one for each node; node 0 is the empty text.

    The children of a node, texts with one more label, form a linked list.

    Attributes:
        parent: The node of each text without its last label.
        label: The last label of each text.
        child: The first child of each node, -1 for none.
        sibling: The next child of the same parent, -1 for none.
        bonus: The score of each text from the language model and the insertion bonus.
        state: ``(nodes, levels)``, the state of the language model after each text.
        size: ``(1,)``, the number of nodes in use.
    """

    parent: Array
    label: Array
    child: Array
    sibling: Array
    bonus: Array
    state: Array
    size: Array


@inner
def make_tree(nodes: int, levels: int) -> Tree:
    """Return a tree of the empty text, whose state is not set, with space for ``nodes`` nodes."""
    return Tree(
        np.full(nodes, -1),
        np.full(nodes, -1),
        np.full(nodes, -1),
        np.full(nodes, -1),
        np.zeros(nodes),
        np.empty((nodes, levels), np.int64),
        np.ones(1, np.int64),
    )


@inner
def child_of(tree: Tree, node: int, label: int) -> int:
    """Return the node of a text with one more label, -1 if there is none yet."""
    child = tree.child[node]
    while child >= 0 and tree.label[child] != label:
        child = tree.sibling[child]
    return child  # type: ignore[no-any-return]


@inner
def grow(tree: Tree, parent: int, label: int, added: float, ngrams: Ngrams) -> int:
    """Add a node for the text of ``parent`` with one more label, which adds to its score; return the node."""
    node = tree.size[0]
    tree.size[0] += 1
    tree.parent[node], tree.label[node] = parent, label
    tree.sibling[node], tree.child[parent] = tree.child[parent], node
    tree.bonus[node] = tree.bonus[parent] + added
    follow(ngrams, tree.state[parent], label, tree.state[node])
    return node  # type: ignore[no-any-return]
