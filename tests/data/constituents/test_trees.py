"""Trees: building, writing, and taking traces and function tags away."""

import pytest
from hypothesis import given
from tests.data.constituents.random_trees import trees

from strukt.data.constituents import TRACE, Constituent, Node, Tree, escape

TEXT = "(ROOT (S-1 (NP-SBJ=2 (-NONE- *)) (VP (VB Go) (-LRB- -LRB-)) (. .)))"


def test_what_a_tree_holds():
    tree = Tree.parse(TEXT)
    assert tree.words == ["*", "Go", "-LRB-", "."]
    assert tree.tags == ["-NONE-", "VB", "-LRB-", "."]
    assert tree.constituents == [(0, 4, "ROOT"), (0, 4, "S-1"), (0, 1, "NP-SBJ=2"), (1, 3, "VP")]
    assert tree.nodes[2] == Node("NP-SBJ=2", 0, 1)
    assert tree.nodes[3] == Node("-NONE-", 0, 1, "*")
    assert isinstance(tree.constituents[0], Constituent)
    assert str(tree) == TEXT
    assert repr(tree) == f"Tree.parse({TEXT!r})"


@given(trees(trace=True))
def test_writing_and_reading_and_building_from_the_parts_are_the_identity(tree):
    assert Tree.parse(str(tree)) == Tree.build(tree.words, tree.tags, tree.constituents) == tree


def test_building_needs_no_top():
    assert str(Tree.build(["a", "b"], ["X", "Y"], [(1, 2, "NP")])) == "( (X a) (NP (Y b)))"
    assert str(Tree.build(["a"], ["X"], [])) == "( (X a))"
    assert str(Tree.build(["a"], ["X"], [(0, 1, ""), (0, 1, "S")])) == "( (S (X a)))"


def test_the_order_of_a_chain_is_kept():
    for labels in ("AB", "BA"):
        tree = Tree.build(["w"], ["X"], [(0, 1, label) for label in labels])
        assert str(tree) == f"({labels[0]} ({labels[1]} (X w)))"


def test_building_writes_brackets_and_white_space_as_trees_do():
    tree = Tree.build(["(", "10 000", "a)b"], ["(", "CD", "X"], [(0, 3, "NP")])
    assert str(tree) == "(NP (-LRB- -LRB-) (CD 10_000) (X a-RRB-b))"
    assert escape("no\xa0break") == "no\xa0break"


@pytest.mark.parametrize(
    ("constituents", "message"),
    [
        ([(0, 3, "S"), (0, 2, "A"), (1, 3, "B")], "B from 1 to 3 crosses one before it"),
        ([(0, 3, "S"), (1, 2, "A"), (1, 3, "B")], "B from 1 to 3 crosses one before it, or stands after one"),
        ([(0, 3, "S"), (2, 3, "A"), (0, 1, "B")], "B from 0 to 1 crosses .* give them in pre-order"),
        ([(0, 2, "A"), (0, 3, "S")], "S from 0 to 3 crosses"),
        ([(0, 4, "S")], "S from 0 to 4 is not a span of 3 words"),
        ([(2, 2, "S")], "S from 2 to 2 is not a span of 3 words"),
        ([(-1, 2, "S")], "S from -1 to 2 is not a span of 3 words"),
        ([(0, 3, "S"), (0, 2, "")], "the label '' is empty or has white space or brackets"),
        ([(0, 3, "S NP")], "the label 'S NP' is empty or has white space"),
        ([(0, 3, "(S")], r"the label '\(S' is empty or has white space or brackets"),
    ],
)
def test_what_cannot_be_built(constituents, message):
    with pytest.raises(ValueError, match=message):
        Tree.build(["a", "b", "c"], ["X", "X", "X"], constituents)


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (["a"], ["X", "Y"], "got 1 words and 2 tags"),
        ([], [], "a tree has at least one word"),
        (["a", ""], ["X", "X"], "no empty word or tag"),
        (["a"], [""], "no empty word or tag"),
    ],
)
def test_words_that_cannot_be_built(words, tags, message):
    with pytest.raises(ValueError, match=message):
        Tree.build(words, tags, [])


def test_traces_go_with_all_that_holds_nothing_else():
    text = "(S (NP (-NONE- *)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))) (NP (-NONE- a) (NN b)))"
    assert str(Tree.parse(text).without_traces()) == "(S (VP (VBD said)) (NP (NN b)))"
    with pytest.raises(ValueError, match="no leaves but those tagged -NONE-"):
        Tree.parse("(S (NP (-NONE- *)))").without_traces()


def test_spans_without_traces_are_integers():
    bare = Tree.parse("(S (-NONE- *) (NP (NN a)) (NN b))").without_traces()
    assert str(bare.constituents[1]) == "Constituent(start=0, end=1, label='NP')"


@given(trees(trace=True))
def test_without_traces_only_words_are_left(tree):
    bare = tree.without_traces()
    assert list(zip(bare.words, bare.tags, strict=True)) == [
        (word, tag) for word, tag in zip(tree.words, tree.tags, strict=True) if tag != TRACE
    ]
    assert bare.without_traces() == bare
    assert Tree.build(bare.words, bare.tags, bare.constituents) == bare, "what is left is a tree"
    assert len(bare.constituents) <= len(tree.constituents)
    if TRACE not in tree.tags:
        assert bare == tree


def test_function_tags_go_but_tags_of_words_stay():
    text = "(ROOT (S-1 (NP-SBJ=2 (-NONE- *)) (ADVP|PRT (VB-X Go)) (NP=3-A (-LRB- -LRB-)) (-X- (=Y a))))"
    bare = "(ROOT (S (NP (-NONE- *)) (ADVP|PRT (VB-X Go)) (NP (-LRB- -LRB-)) (-X- (=Y a))))"
    assert str(Tree.parse(text).without_functions()) == bare


@given(trees())
def test_without_functions_the_spans_stay(tree):
    bare = tree.without_functions()
    assert bare.without_functions() == bare
    assert [node[1:] for node in bare.nodes] == [node[1:] for node in tree.nodes]
    for new, old in zip(bare.nodes[1:], tree.nodes[1:], strict=True):
        assert new.label
        assert old.label.startswith(new.label)


def test_depth_and_length_are_no_matter():
    deep = Tree.parse("(S (X b) " * 5000 + "(NN a)" + ")" * 5000)
    assert Tree.parse(str(deep)) == deep
    assert deep.without_traces() == deep.without_functions() == deep
    assert hash(deep) == hash(Tree(deep.nodes))
