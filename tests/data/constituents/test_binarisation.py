"""Trees become binary trees and come back the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.constituents.random_trees import trees

from strukt.data.constituents import Tree
from strukt.data.constituents.binarisation import EMPTY, binarise, restore


def there_and_back(tree):
    return restore(tree.words, tree.tags, binarise(tree))


def is_binary(spans, length):
    """Whether spans are those of a binary tree in pre-order: by splitting, as a shift-reduce reader would."""
    waiting = [(0, length)]
    for position, (start, end, _) in enumerate(spans):
        if not waiting or waiting.pop() != (start, end):
            return False
        if end - start > 1:
            left = spans[position + 1]
            waiting += [(left.end, end), (start, left.end)]
    return not waiting


def test_chains_merge_and_the_rest_branches_to_the_right():
    tree = Tree.parse("(ROOT (S-A (NP (NP (X a))) (X b) (VP (X c) (NP (X d)) (X e)) (X f)))")
    assert binarise(tree) == [
        (0, 6, "ROOT S-A"),
        (0, 1, "NP NP"),
        (1, 6, EMPTY),
        (1, 2, EMPTY),
        (2, 6, EMPTY),
        (2, 5, "VP"),
        (2, 3, EMPTY),
        (3, 5, EMPTY),
        (3, 4, "NP"),
        (4, 5, EMPTY),
        (5, 6, EMPTY),
    ]
    assert there_and_back(tree) == tree


@given(trees(trace=True))
def test_random_trees_become_binary_and_come_back(tree):
    bare = tree.without_traces()
    spans = binarise(bare)
    assert len(spans) == 2 * len(bare.words) - 1
    assert is_binary(spans, len(bare.words))
    assert restore(bare.words, bare.tags, spans) == bare


@given(trees(), st.randoms(use_true_random=False))
def test_how_the_empty_spans_branch_does_not_matter(tree, random):
    """Any binary tree that holds the constituents restores them: here with empty spans put in at random."""
    labels = {(start, end): label for start, end, label in binarise(tree) if label != EMPTY}
    spans, waiting = [], [(0, len(tree.words))]
    while waiting:
        start, end = waiting.pop()
        spans.append((start, end, labels.get((start, end), EMPTY)))
        middles = [
            middle
            for middle in range(start + 1, end)
            if not any(
                i < middle < j and start <= i and j <= end and (i, j) != (start, end) for i, j in labels
            )
        ]
        if end - start > 1:
            middle = random.choice(middles)
            waiting += [(middle, end), (start, middle)]
    assert restore(tree.words, tree.tags, spans) == tree


def test_an_empty_top_is_a_bracket_without_label():
    spans = [(0, 2, EMPTY), (0, 1, "NP"), (1, 2, EMPTY)]
    assert str(restore(["a", "b"], ["X", "Y"], spans)) == "( (NP (X a)) (Y b))"
    assert str(restore(["a"], ["X"], [(0, 1, EMPTY)])) == "( (X a))"
    for text in ("( (X a))", "( (S (X a) (X b)))", "( (X a) (X b))"):
        assert str(there_and_back(Tree.parse(text))) == text


def test_spans_that_cross_are_refused():
    with pytest.raises(ValueError, match="B from 1 to 3 crosses one before it"):
        restore(["a", "b", "c"], ["X"] * 3, [(0, 3, "S"), (0, 2, "A"), (1, 3, "B")])


@pytest.mark.parametrize(
    "text", ["(S " * 5000 + "(N a)" + ")" * 5000, "(S (X b) " * 5000 + "(N a)" + ")" * 5000]
)
def test_a_depth_of_5000(text):
    tree = Tree.parse(text)
    assert there_and_back(tree) == tree


def test_a_width_of_5000():
    tree = Tree.parse("(S " + "(NP (X b)) " * 5000 + ")")
    assert len(binarise(tree)) == 9999
    assert there_and_back(tree) == tree
