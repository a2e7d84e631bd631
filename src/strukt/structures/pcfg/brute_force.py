"""Brute-force enumeration of the trees that a grammar derives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


class Tree(NamedTuple):
    """A tree: a label over the words from ``start`` to ``end - 1``, with two children, or none over one word."""

    label: int
    start: int
    end: int
    children: tuple[Tree, ...] = ()


def pcfg(length: int, spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor) -> Table:
    """Return all trees of a sentence under a context-free grammar in Chomsky normal form, and their scores.

    Args:
        length: The number of words in use.
        spans: ``(n + 1, n + 1, s + p)``, extra scores of labelled spans.
        root: ``(s,)``, the score of each nonterminal as the root.
        rules: ``(s, s + p, s + p)``; ``[A, B, C]`` scores A -> B C; labels from s on are preterminals.
        emission: ``(n, p)``, the score of each preterminal for each word.
    """
    s, p = root.shape[0], emission.shape[1]
    nodes, tops, uses, words = _places(length, s, p)
    rows, (starts, ends, labels) = torch.arange(len(nodes))[:, None], nodes.unbind(-1)
    events = torch.full((len(nodes), *spans.shape[:2]), -1)
    events[rows, starts, ends] = labels
    parts = torch.zeros(len(nodes), *spans.shape, dtype=torch.float64)
    parts[rows, starts, ends, labels] = 1
    scores = _sums(spans, nodes) + _sums(root, tops) + _sums(rules, uses) + _sums(emission, words)
    return Table(events, parts, scores)


def _sums(scores: Tensor, places: Tensor) -> Tensor:
    """Return the sum of the scores of each tree, ``(trees,)``, at k indices ``(trees, k, axes)``."""
    return scores.double()[places.unbind(-1)].sum(1)


@cache
@torch.inference_mode(False)  # cached tensors may need gradients later
def _places(length: int, s: int, p: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the indices of each tree's scores in spans, root, rules and emissions, with one row for each tree."""
    trees = [list(_nodes(tree)) for tree in _over(0, length, s, p) if tree.label < s] if length else [[]]
    nodes = [[(node.start, node.end, node.label) for node in tree] for tree in trees]
    labels = [[(node.label,) for node in tree[:1]] for tree in trees]
    uses = [[(node.label, *_labels(node.children)) for node in tree if node.children] for tree in trees]
    words = [[(node.start, node.label - s) for node in tree if not node.children] for tree in trees]
    return _rows(nodes, 3), _rows(labels, 1), _rows(uses, 3), _rows(words, 2)


def _rows(places: Sequence[Sequence[tuple[int, ...]]], width: int) -> Tensor:
    """Return the indices of each tree as a tensor ``(trees, k, width)``."""
    return torch.tensor(places, dtype=torch.long).reshape(len(places), -1, width)


def _labels(nodes: Sequence[Tree]) -> list[int]:
    return [node.label for node in nodes]


def _nodes(tree: Tree) -> Iterator[Tree]:
    """Yield a tree and all its subtrees, parents before children."""
    yield tree
    for child in tree.children:
        yield from _nodes(child)


def _over(start: int, end: int, s: int, p: int) -> list[Tree]:
    """Return every tree over the words from ``start`` to ``end - 1``."""
    if end == start + 1:
        return [Tree(label, start, end) for label in range(s, s + p)]
    return [
        Tree(label, start, end, (left, right))
        for middle in range(start + 1, end)
        for left in _over(start, middle, s, p)
        for right in _over(middle, end, s, p)
        for label in range(s)
    ]
