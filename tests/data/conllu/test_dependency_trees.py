"""Cycles and crossing arcs, against plain definitions, and the problems of sentences."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.grammars import heads

from strukt.data import conllu
from strukt.data.conllu.dependency_trees import find_cycle, is_projective


def reaches_root(word, tree):
    for _ in tree:
        word = tree[word - 1] if word else 0
    return word == 0


def crosses(first, second):
    return first[0] < second[0] < first[1] < second[1] or second[0] < first[0] < second[1] < first[1]


def arcs(tree):
    return [tuple(sorted((word, head))) for word, head in enumerate(tree, 1)]


@pytest.mark.parametrize("length", range(5))
def test_all_short_head_sequences(length):
    """Projective trees are those without arcs that cross."""
    for tree in product(range(length + 1), repeat=length):
        cycle = find_cycle(tree)
        assert bool(cycle) == (not all(reaches_root(word, tree) for word in range(1, length + 1)))
        for word, following in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
            assert tree[word - 1] == following
        assert len(set(cycle)) == len(cycle)
        if not cycle:
            assert is_projective(tree) == (not any(crosses(a, b) for a in arcs(tree) for b in arcs(tree))), tree


@given(st.integers(1, 12).flatmap(heads))
def test_longer_trees(tree):
    assert find_cycle(tree) == []
    assert is_projective(tree) == (not any(crosses(a, b) for a in arcs(tree) for b in arcs(tree)))


def test_long_chains_and_cycles_without_recursion():
    length = 50_000
    assert find_cycle(range(length)) == []
    assert is_projective(range(length))
    assert len(find_cycle([*range(2, length + 1), 1])) == length


def test_require_tree_gives_the_sentence_back():
    sentence = conllu.from_forms(["It", "works"]).annotated(head=[2, 0], deprel=["nsubj", "root"])
    assert conllu.require_tree(sentence) is sentence


def test_all_tree_problems_of_a_sentence():
    sentence = conllu.from_forms(["a"] * 14).annotated(
        head=[0, 0, *range(4, 15), 3], deprel=["x"] * 13 + ["_"]
    )
    found = [(problem.rule, problem.line) for problem in conllu.tree_problems(sentence)]
    assert found == [("deprel", 14), ("root", 2), ("cycle", 3)]
    *_, cycle = conllu.tree_problems(sentence)
    assert cycle.message.endswith("12 -> ...")
