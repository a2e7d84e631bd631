"""Interactions: which edges are drawn, and that the spanning tree is told from the others."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strukt.viz import Interaction, Interactions, svg, terminal

WEIGHTS = [[0.0, 3.0, -1.0, 0.01], [3.0, 0.0, 2.0, 0.5], [-1.0, 2.0, 0.0, 0.0], [0.01, 0.5, 0.0, 0.0]]
TREE = [(1, 0), (1, 2), (0, 3)]
WORDS = Interactions("words <&>", ["a", "b", "c", "d"], WEIGHTS, TREE)


def test_the_edges_of_the_tree_are_drawn_however_weak():
    assert WORDS.edges() == [
        Interaction(0, 1, 3.0, True),
        Interaction(1, 2, 2.0, True),
        Interaction(0, 2, -1.0, False),
        Interaction(1, 3, 0.5, False),
        Interaction(0, 3, 0.01, True),
    ]
    assert WORDS.description() == (
        "words <&>. Spanning tree: a – b 3.00, b – c 2.00, a – d 0.01. Other edges: a – c -1.00, b – d 0.50."
    )
    bare = Interactions("words", ["a", "b", "c", "d"], WEIGHTS)
    assert [edge[:2] for edge in bare.edges()] == [(0, 1), (1, 2), (0, 2), (1, 3)]
    assert bare.description() == "words. Edges: a – b 3.00, b – c 2.00, a – c -1.00, b – d 0.50."


def test_the_lines_of_the_tree_are_heavy_and_those_against_broken():
    root = ElementTree.fromstring(svg.draw(WORDS))
    lines = [(line.get("class"), line.get("stroke-dasharray")) for line in root.findall("{*}path")]
    assert lines == [("arc", "5 4"), ("arc", None), *[("tree", None)] * 3]
    numbers = [text.text for text in root.findall("{*}text") if text.get("class") == "number"]
    assert numbers == ["3.00", "2.00", "0.01"]
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for name, most in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            assert 0 <= float(element.get(name, 0)) <= most


def test_the_terminal_lists_the_edges_with_bars():
    title, blank, *lines = terminal.draw(WORDS, 40).splitlines()
    assert (title, blank) == ("words <&> (━ in the spanning tree)", "")
    assert [line.split()[:4] for line in lines] == [
        ["a", "━", "b", "3.00"], ["b", "━", "c", "2.00"], ["a", "─", "c", "-1.00"], ["b", "─", "d", "0.50"],
        ["a", "━", "d", "0.01"],
    ]  # fmt: skip
    assert [line.count("█") for line in lines] == [26, 17, 8, 4, 0]


@pytest.mark.parametrize(
    ("weights", "tree", "message"),
    [
        ([[0.0]], [], "weights does not have 3 rows of 3; expected"),
        ([[0, 1, 2], [1, 0, 3], [2, 4, 0]], [], "weights has 4 and 3 between 'c' and 'b'"),
        ([[0, 1, float("inf")], [1, 0, 3], [float("inf"), 3, 0]], [], "expected the same finite number"),
        ([[0, 1, 2], [1, 0, 3], [2, 3, 0]], [(0, 1)], "expected those of a tree of 3 nodes"),
        ([[0, 1, 2], [1, 0, 3], [2, 3, 0]], [(0, 1), (1, 0)], "expected those of a tree of 3 nodes"),
        ([[0, 1, 2], [1, 0, 3], [2, 3, 0]], [(0, 1), (1, 3)], "expected those of a tree of 3 nodes"),
    ],
)
def test_what_is_no_such_graph_is_refused(weights, tree, message):
    with pytest.raises(ValueError, match=message):
        Interactions("T", ["a", "b", "c"], weights, tree)


@settings(max_examples=30)
@given(st.data())
def test_any_tree_is_drawn_whole(data):
    n = data.draw(st.integers(1, 9))
    weights = [[0.0] * n for _ in range(n)]
    for second in range(n):
        for first in range(second):
            weights[first][second] = weights[second][first] = data.draw(st.floats(-4, 4))
    tree = [(node, data.draw(st.integers(0, node - 1))) for node in range(1, n)]
    graph = Interactions("T", [f"node {node}" for node in range(n)], weights, tree)
    edges = graph.edges()
    assert {edge[:2] for edge in edges if edge.in_tree} == {(second, first) for first, second in tree}
    assert len({edge[:2] for edge in edges}) == len(edges)
    assert all(0 <= graph.share(edge) <= 1 for edge in edges)
