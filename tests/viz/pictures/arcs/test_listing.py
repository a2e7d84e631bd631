"""One word a line, and folded tags."""

import re

import pytest

from strukt.viz import Diagram
from strukt.viz.canvas.width import display_width
from strukt.viz.pictures.arcs.listing import draw, fold, shorten, with_probability

FOX = Diagram(
    "The quick brown fox jumps".split(),
    "DT JJ JJ NN VBZ".split(),
    [4, 4, 4, 5, 0],
    "det amod amod nsubj root".split(),
)


def test_arcs_stand_left_of_the_words():
    assert draw(FOX, 60, {}).split("\n") == [
        "╭─────▶ 1  The    DT   det ← 4 fox",
        "│ ╭───▶ 2  quick  JJ   amod ← 4 fox",
        "│ │ ╭─▶ 3  brown  JJ   amod ← 4 fox",
        "╰─┴─┼─▶ 4  fox    NN   nsubj ← 5 jumps",
        "    ╰─▶ 5  jumps  VBZ  root",
    ]


@pytest.mark.parametrize("width", range(30, 60))
def test_no_line_is_wider_than_the_terminal(width):
    widest_table = max(display_width(line) for line in draw(FOX, 1, {}).split("\n"))
    assert all(display_width(line) <= max(width, widest_table) for line in draw(FOX, width, {}).split("\n"))


@pytest.mark.parametrize("width", [1, 10, 20, 33])
def test_folding_keeps_every_word_in_order(width):
    words = [f"word{number}" for number in range(20)]
    picture = fold(Diagram(words, ["T"] * 20), width, {})
    assert re.findall(r"word\d+", picture) == words
    assert all(display_width(line) <= max(width, 6) for line in picture.split("\n"))


def test_wide_words_keep_tags_aligned():
    words, tags = fold(Diagram(["国境", "a"], ["N", "DET"]), 40, {}).split("\n")
    assert (words, tags) == ("国境  a", "N     DET")


@pytest.mark.parametrize(
    ("probability", "text"), [(0.0, ".00"), (0.994, ".99"), (0.996, "1.0"), (1.0, "1.0")]
)
def test_probabilities_have_two_digits(probability, text):
    assert shorten(probability) == text
    assert with_probability("x", probability) == f"x {text}"
