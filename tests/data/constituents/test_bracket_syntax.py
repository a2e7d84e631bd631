"""Which texts are trees, what is said of those that are not, and that depth costs nothing."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.constituents.random_trees import layouts, trees

from strukt.data.constituents.bracket_syntax import BracketError, parse


def nested(text):
    """The tree as nested lists, by recursion; an independent reading of correct text."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()

    def read(position):
        label, children = "", []
        position += 1
        if tokens[position] not in "()":
            label, position = tokens[position], position + 1
        while tokens[position] != ")":
            if tokens[position] == "(":
                child, position = read(position)
                children.append(child)
            else:
                children.append(tokens[position])
                position += 1
        return [label, *children], position + 1

    return read(0)[0]


def flattened(tree, start=0):
    """The nodes of a tree of nested lists, in pre-order."""
    label, *children = tree
    if isinstance(children[0], str):
        return [(label, start, start + 1, children[0])]
    nodes, end = [], start
    for child in children:
        nodes += flattened(child, end)
        end = max(node[2] for node in nodes)
    return [(label, start, end, None), *nodes]


@pytest.mark.parametrize(
    "text",
    [
        "(ROOT (S (NP (PRP It)) (VP (VBZ works)) (. .)))",
        "( (S (NP-SBJ (NP (DT a) (NN b)) (CC c)) (VP (VB d) (NP (NP (NP (NN e)))))))",
        "((X (A a)))",
        "(ROOT(S(A a)(B b))\n(C\tc))",
        "(NP (-LRB- -LRB-) (NN Governor-LRB-s-RRB-) (-RRB- -RRB-))",
        "(NP-SBJ=2 (NN a=b-c) (-NONE- *T*-1))",
    ],
)
def test_parse_equals_a_recursive_reading(text):
    assert list(parse(text)) == flattened(nested(text))


@given(st.data())
def test_layout_does_not_matter(data):
    tree = data.draw(trees())
    assert parse(data.draw(layouts(tree))) == tree.nodes


def test_a_lone_preterminal_gets_a_bracket_around_it():
    assert parse("(UH Yes)") == parse("( (UH Yes))") == (("", 0, 1, None), ("UH", 0, 1, "Yes"))


@pytest.mark.parametrize(
    ("text", "rule", "offset", "message"),
    [
        ("", "no-tree", 0, "there is no tree; write one, such as (NP (NN tea))"),
        ("Hello there", "no-tree", 0, "expected a tree in brackets, found 'Hello'"),
        ("()", "leaf", 1, "() is empty; write (TAG word)"),
        ("(S (NP))", "leaf", 6, "(NP) has a label and no word, or a word and no tag"),
        ("(S (NP (NN a b)))", "leaf", 13, "the bracket NN holds two words, 'a' and 'b'"),
        ("(S (NN a) b)", "leaf", 10, "the word 'b' stands beside brackets and has no tag"),
        ("(S b (NN a))", "leaf", 5, "the word 'b' stands beside brackets and has no tag"),
        ("(S ((NN a)))", "label", 4, "a bracket inside the tree has no label"),
        ("(((NN a)))", "label", 2, "a bracket inside the tree has no label"),
        ("(S (NP (NN a)", "unbalanced", 0, "the tree is not closed: 2 closing brackets are missing"),
        ("(S (NN a)))", "unbalanced", 10, "there are more closing brackets than opening ones"),
        ("(S (NN a)) (S (NN b))", "second-tree", 11, "a tree begins on the line where another one ends"),
        ("(S (NN a)) % a", "text", 11, "'%' follows the tree"),
    ],
)
def test_what_is_no_tree(text, rule, offset, message):
    with pytest.raises(BracketError) as caught:
        parse(text)
    assert (caught.value.rule, caught.value.offset) == (rule, offset)
    assert str(caught.value).startswith(message)
    assert str(caught.value) == f"{caught.value.message}; {caught.value.remedy}"


@given(st.text(st.sampled_from("()ab \n"), max_size=20))
def test_any_text_is_a_tree_or_a_bracket_error(text):
    try:
        nodes = parse(text)
    except BracketError:
        return
    assert list(nodes) in (flattened(nested(text)), flattened(nested(f"({text})")))


def test_memory_is_linear_in_the_depth():
    def peak(depth):
        text = "(S (X b) " * depth + "(NN a)" + ")" * depth
        tracemalloc.start()
        parse(text)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(16_000) < 5 * peak(4_000)
