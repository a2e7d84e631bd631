"""Brute-force enumeration of projective dependency trees."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from strukt.structures.enumeration import Table
from strukt.structures.non_projective_tree.brute_force import ancestors, dependency_trees, table_of


def projective_tree(length: int, arcs: Tensor, single_root: bool = True) -> Table:
    """Return all dependency trees in which every subtree covers a contiguous span, and their scores.

    The arguments are those of `non_projective_tree`.
    """
    trees = [heads for heads in dependency_trees(length, single_root) if _is_projective(heads)]
    return table_of(trees, length, arcs)


def _is_projective(heads: Sequence[int]) -> bool:
    words = range(1, len(heads) + 1)
    subtrees = [[word for word in words if top in ancestors(heads, word)] for top in words]
    return all(subtree[-1] - subtree[0] + 1 == len(subtree) for subtree in subtrees)
