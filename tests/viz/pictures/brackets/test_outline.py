"""Trees with a bracket a line."""

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.viz.pictures.brackets.test_picture import diagrams

from strukt.viz import Bracket, BracketDiagram
from strukt.viz.canvas.width import display_width
from strukt.viz.pictures.brackets.outline import draw, segments

MEETING = BracketDiagram(
    "The president of Texas met Kim".split(),
    [Bracket("PER", 0, 4, 3, 0.5), Bracket("GPE", 3, 4), Bracket("PER", 5, 6)],
    bits=4,
)


def test_words_outside_brackets_stand_plain():
    assert draw(MEETING, 40, {}).split("\n") == [
        "PER 3 .50",
        "├─ The president of",
        "╰─GPE─ Texas",
        "met",
        "PER─ Kim",
    ]


def test_long_texts_are_folded_beside_the_lines():
    tree = BracketDiagram("one two three four".split(), [Bracket("S", 0, 4), Bracket("NP", 0, 3)])
    assert draw(tree, 14, {}).split("\n") == ["S", "├─NP─ one two", "│     three", "╰─ four"]


def test_a_word_that_fits_nowhere_stays_on_the_line_of_its_label():
    tree = BracketDiagram(["Donaudampfschiff", "b"], [Bracket("NP", 0, 2)])
    assert draw(tree, 5, {}).split("\n") == ["0 NP─ Donaudampfschiff", "      b"]


def test_brackets_over_the_same_words_keep_their_order():
    tree = BracketDiagram(["a"], [Bracket("S", 0, 1), Bracket("VP", 0, 1), Bracket("", 0, 1)])
    assert draw(tree, 20, {}).split("\n") == ["S", "╰─VP", "  ╰── a"]


def test_segments_are_only_what_there_is():
    bracket = Bracket("", 0, 1, code=1)
    assert segments(BracketDiagram(["a"], [bracket], bits=1), bracket) == [("1", "code 1")]
    assert segments(BracketDiagram(["a"], []), Bracket("", 0, 1)) == []


@given(diagrams(), st.integers(1, 60))
def test_words_stand_once_and_in_order(tree, width):
    assert re.findall(r"w\d+", draw(tree, width, {})) == tree.forms


@given(diagrams())
def test_indentation_tells_the_depth(tree):
    depths = []
    for parent in tree.parents():
        depths.append(0 if parent is None else depths[parent] + 1)
    lines = [line for line in draw(tree, 100, {}).split("\n") if "X" in line]
    assert [line.index("X") for line in lines] == [2 * depth for depth in depths]
    lines = [line for line in draw(tree, 1, {}).split("\n") if "X" in line]
    assert [int(line.split()[0]) for line in lines] == depths


@given(diagrams(), st.integers(12, 60))
def test_no_line_is_wider_than_the_terminal(tree, width):
    assert all(display_width(line) <= width for line in draw(tree, width, {}).split("\n"))
