"""Brute-force enumeration of dependency trees."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from strukt.structures.enumeration import Table, choices


def non_projective_tree(length: int, arcs: Tensor, single_root: bool = True) -> Table:
    """Return all dependency trees and their scores.

    Args:
        length: The number of words in use.
        arcs: ``(n, n + 1)``, or with labels ``(n, n + 1, c)``; ``[m, h]`` scores head h for word m + 1; h = 0 is
            the root.
        single_root: Whether exactly one word depends on the root.
    """
    return table_of(dependency_trees(length, single_root), length, arcs)


def table_of(trees: Sequence[Sequence[int]], length: int, arcs: Tensor) -> Table:
    """Return a table of the trees with these heads; if ``arcs`` has labels, of all labellings of their arcs."""
    n = arcs.shape[0]
    heads, parts = choices(trees, n, n + 1)
    if arcs.dim() == 3:
        return _labelled(heads, length, arcs)
    return Table(heads, parts, arcs.double()[torch.arange(length), heads[:, :length]].sum(1))


def _labelled(heads: Tensor, length: int, arcs: Tensor) -> Table:
    """Return the table of all labellings of the trees ``heads (trees, n)``; events are ``(rows, n, 2)``."""
    n, _, c = arcs.shape
    ways = list(itertools.product(range(c), repeat=length))
    labels, _ = choices(ways, n, c)
    heads, labels = heads.repeat_interleave(len(ways), 0), labels.repeat(len(heads), 1)
    arc = heads[..., None, None] == torch.arange(n + 1)[:, None]
    used = arcs.double()[torch.arange(length), heads[:, :length], labels[:, :length]]
    parts = arc & (labels[..., None, None] == torch.arange(c))
    return Table(torch.stack([heads, labels], -1), parts.double(), used.sum(1))


@cache
def dependency_trees(length: int, single_root: bool) -> list[tuple[int, ...]]:
    """Return the heads of all dependency trees over ``length`` words; 0 is the root."""
    candidates = itertools.product(range(length + 1), repeat=length)
    words = range(1, length + 1)
    trees = [heads for heads in candidates if all(0 in ancestors(heads, word) for word in words)]
    return [heads for heads in trees if not single_root or heads.count(0) == 1 or length == 0]


def ancestors(heads: Sequence[int], word: int) -> set[int]:
    """Return the set of a word, its head, the head of that, and so on, up to the root or until a word repeats."""
    met: set[int] = set()
    while word not in met:
        met.add(word)
        word = heads[word - 1] if word else 0
    return met
