"""The SVG is well-formed, escaped, and has one arrow per word."""

import random
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from tests.viz.pictures.dependency_tree.test_picture import random_tree
from tests.viz.told import NAMESPACE, elements

from strukt.viz import Diagram
from strukt.viz.canvas.svg import text_width
from strukt.viz.svg import draw


@pytest.mark.parametrize("seed", range(3))
def test_one_arrow_per_word_which_says_which_one_it_is(seed):
    heads = random_tree(9, random.Random(seed))
    diagram = Diagram(["w"] * 9, ["T"] * 9, heads, ["r"] * 9)
    assert len(elements(draw(diagram), "path", "tip")) == len(elements(draw(diagram), "path", "arc")) == 9
    assert len(elements(draw(diagram), "text", "label")) == len(elements(draw(diagram), "text", "tag")) == 9
    groups = ElementTree.fromstring(draw(diagram)).findall(f"{NAMESPACE}g")
    named = {int(group.get("data-word")): int(group.get("data-head")) for group in groups}
    assert named == dict(enumerate(heads, start=1))
    assert all(group.find(f"{NAMESPACE}path").get("class") == "arc" for group in groups)


def test_everything_lies_inside_the_picture():
    diagram = Diagram(
        ["Donaudampfschifffahrt", "国境", "."], ["NOUN", "X", "."], [0, 1, 1], ["root", "flat", "punct"]
    )
    picture = ElementTree.fromstring(draw(diagram))
    width, height = float(picture.get("width")), float(picture.get("height"))
    for text in picture.iter(NAMESPACE + "text"):
        half = text_width(text.text, 12.0) / 2
        assert half <= float(text.get("x")) <= width - half
        assert 0 < float(text.get("y")) < height


def test_words_do_not_overlap():
    forms = ["wide" * 5, "i", "MMMM", "x"]
    words = elements(draw(Diagram(forms)), "text", "form")
    centres = [float(word.get("x")) for word in words]
    for (left, right), (first, second) in zip(pairwise(centres), pairwise(forms), strict=True):
        assert right - left > (text_width(first, 17.0) + text_width(second, 17.0)) / 2


def test_an_improbable_arc_is_lighter():
    diagram = Diagram(["a", "b", "c"], heads=[2, 0, 2], head_probabilities=[0.1, 0.5, 1.0])
    _, faint, strong = elements(draw(diagram), "path", "arc")
    assert faint.get("opacity") == "0.41"
    assert strong.get("opacity") == "1.00"


def test_the_line_from_the_root_does_not_strike_through_the_labels_of_arcs():
    picture = ElementTree.fromstring(
        draw(Diagram(["a", "b", "c"], heads=[3, 0, 2], relations=["x", "y", "z"]))
    )
    groups = picture.findall(f"{NAMESPACE}g")
    assert groups[0].get("data-head") == "0"  # what comes later covers what was before
    assert all(group.find(f"{NAMESPACE}rect") is not None for group in groups[1:])


def test_no_words_make_a_picture_too():
    assert ElementTree.fromstring(draw(Diagram([]))).tag == NAMESPACE + "svg"
