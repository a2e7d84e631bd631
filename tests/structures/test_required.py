"""Conditions on entries that are no part of any structure leave none, in every structure; padding is ignored."""

import pytest
import torch

from strukt import LexicalisedTree, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.distributions import PCFG, BitSpanTree, StructuredDistribution


def structures() -> dict[str, tuple[StructuredDistribution, tuple[int, ...]]]:
    """Return structures over two sentences of lengths 3 and 2, and an entry that is no part of one of 2 words."""
    lengths = torch.tensor([3, 2])
    zeros = torch.zeros
    grammar = zeros(2, 1), zeros(2, 1, 2, 2), zeros(2, 3, 1)
    return {
        "NonProjectiveTree": (NonProjectiveTree(zeros(2, 3, 4), lengths), (1, 2)),
        "ProjectiveTree": (ProjectiveTree(zeros(2, 3, 4), lengths), (1, 2)),
        "SpanTree, swapped ends": (SpanTree(zeros(2, 4, 4), lengths), (2, 0)),
        "SpanTree, empty span": (SpanTree(zeros(2, 4, 4), lengths), (2, 2)),
        "SpanTree with labels": (SpanTree(zeros(2, 4, 4, 2), lengths), (1, 0, 1)),
        "BitSpanTree": (BitSpanTree(zeros(2, 4, 4, 2), lengths), (1, 0, 1)),
        "PCFG": (PCFG(*grammar, lengths), (1, 0, 0)),
        "LexicalisedTree, swapped ends": (LexicalisedTree(zeros(2, 4, 4), zeros(2, 3, 4), lengths), (2, 0, 0)),
        "LexicalisedTree, head outside": (LexicalisedTree(zeros(2, 4, 4), zeros(2, 3, 4), lengths), (0, 1, 1)),
    }


@pytest.mark.parametrize("name", structures())
def test_what_is_no_part_leaves_no_structure(name):
    structure, entry = structures()[name]
    required = torch.zeros(structure.scores[0].shape, dtype=torch.bool)
    required[(1, *entry)] = True
    given = structure.condition(required=required).log_partition
    assert given[0] == structure.log_partition[0]
    assert given[1] == -torch.inf


@pytest.mark.parametrize("place", [(1, -1), (1, slice(None), -1)], ids=["a row", "a column"])
@pytest.mark.parametrize("name", structures())
def test_what_is_required_in_the_padding_is_ignored(name, place):
    structure, _ = structures()[name]
    required = torch.zeros(structure.scores[0].shape, dtype=torch.bool)
    required[place] = True
    assert torch.equal(structure.condition(required=required).log_partition, structure.log_partition)
