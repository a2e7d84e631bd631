"""Dependency trees by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from strukt.testing.brute_force.table import Table, choices


def non_projective_tree(length: int, arcs: Tensor, single_root: bool = True) -> Table:
    """All dependency trees.

    Args:
        length: Number of words in use.
        arcs: `(n, n + 1)`, or with labels `(n, n + 1, c)`; `[m, h]` scores head h for word m + 1, head 0 is the
            root.
        single_root: Whether exactly one word hangs from the root.
    """
    return _trees(_dependency_trees(length, single_root), length, arcs)


def projective_tree(length: int, arcs: Tensor, single_root: bool = True) -> Table:
    """All dependency trees in which every subtree covers a contiguous span.

    The arguments are those of `non_projective_tree`.
    """
    trees = [heads for heads in _dependency_trees(length, single_root) if _is_projective(heads)]
    return _trees(trees, length, arcs)


def second_order_tree(length: int, arcs: Tensor, siblings: Tensor, single_root: bool = True) -> Table:
    """All projective dependency trees, with scores of neighbouring dependents of one head.

    Args:
        length: Number of words in use.
        arcs: `(n, n + 1)`.
        siblings: `(n, n, n + 1)`; `[m, k, h]` scores word m + 1 behind word k + 1 on one side of h.
        single_root: Whether exactly one word hangs from the root.
    """
    table = projective_tree(length, arcs, single_root)
    pairs = [
        [(m - 1, k - 1, h) for h in range(length + 1) for m, k in _neighbours(heads, h)]
        for heads in table.events[:, :length].tolist()
    ]
    extra = [sum((siblings.double()[pair] for pair in row), siblings.new_zeros(()).double()) for row in pairs]
    return Table(table.events, table.parts, table.scores + torch.stack(extra) if extra else table.scores)


def _neighbours(heads: Sequence[int], head: int) -> list[tuple[int, int]]:
    """The dependents of a head, each behind the next one nearer to it on its side."""
    words = [word for word, own in enumerate(heads, 1) if own == head]
    right, left = [word for word in words if word > head], [word for word in words if word < head]
    return [*itertools.pairwise(left), *((later, earlier) for earlier, later in itertools.pairwise(right))]


def _trees(trees: Sequence[Sequence[int]], length: int, arcs: Tensor) -> Table:
    n = arcs.shape[0]
    heads, parts = choices(trees, n, n + 1)
    if arcs.dim() == 3:
        return _labelled(heads, length, arcs)
    return Table(heads, parts, arcs.double()[torch.arange(length), heads[:, :length]].sum(1))


def _labelled(heads: Tensor, length: int, arcs: Tensor) -> Table:
    """All ways to label the arcs of all trees; events `(rows, n, 2)`."""
    n, _, c = arcs.shape
    ways = list(itertools.product(range(c), repeat=length))
    labels, _ = choices(ways, n, c)
    heads, labels = heads.repeat_interleave(len(ways), 0), labels.repeat(len(heads), 1)
    arc = heads[..., None, None] == torch.arange(n + 1)[:, None]
    used = arcs.double()[torch.arange(length), heads[:, :length], labels[:, :length]]
    parts = arc & (labels[..., None, None] == torch.arange(c))
    return Table(torch.stack([heads, labels], -1), parts.double(), used.sum(1))


@cache
def _dependency_trees(length: int, single_root: bool) -> list[tuple[int, ...]]:
    candidates = itertools.product(range(length + 1), repeat=length)
    words = range(1, length + 1)
    trees = [heads for heads in candidates if all(0 in _ancestors(heads, word) for word in words)]
    return [heads for heads in trees if not single_root or heads.count(0) == 1 or length == 0]


def _ancestors(heads: Sequence[int], word: int) -> set[int]:
    """What is met on the way up from a word: the word itself, then up to the root or round a cycle."""
    met: set[int] = set()
    while word not in met:
        met.add(word)
        word = heads[word - 1] if word else 0
    return met


def _is_projective(heads: Sequence[int]) -> bool:
    words = range(1, len(heads) + 1)
    subtrees = [[word for word in words if top in _ancestors(heads, word)] for top in words]
    return all(subtree[-1] - subtree[0] + 1 == len(subtree) for subtree in subtrees)
