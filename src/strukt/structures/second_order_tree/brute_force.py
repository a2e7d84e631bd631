"""Brute-force enumeration of projective trees with scores of siblings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.structures.enumeration import Table
from strukt.structures.projective_tree.brute_force import projective_tree


def second_order_tree(length: int, arcs: Tensor, siblings: Tensor, single_root: bool = True) -> Table:
    """Return all projective dependency trees, scored by their arcs and by neighbouring dependents of one head.

    Args:
        length: The number of words in use.
        arcs: ``(n, n + 1)``; ``[m, h]`` scores head h for word m + 1; h = 0 is the root.
        siblings: ``(n, n, n + 1)``; ``[m, k, h]`` scores the words m + 1 and k + 1 as neighbouring dependents of h
            on one side of it, k + 1 nearer to it.
        single_root: Whether exactly one word depends on the root.
    """
    table = projective_tree(length, arcs, single_root)
    pairs = [
        [(m - 1, k - 1, h) for h in range(length + 1) for m, k in _neighbours(heads, h)]
        for heads in table.events[:, :length].tolist()
    ]
    extra = [sum((siblings.double()[pair] for pair in row), siblings.new_zeros(()).double()) for row in pairs]
    return Table(table.events, table.parts, table.scores + torch.stack(extra) if extra else table.scores)


def _neighbours(heads: Sequence[int], head: int) -> list[tuple[int, int]]:
    """Return the pairs of neighbouring dependents on either side of a head, the word farther from it first."""
    words = [word for word, head_of_word in enumerate(heads, 1) if head_of_word == head]
    right, left = [word for word in words if word > head], [word for word in words if word < head]
    return [*itertools.pairwise(left), *((later, earlier) for earlier, later in itertools.pairwise(right))]
