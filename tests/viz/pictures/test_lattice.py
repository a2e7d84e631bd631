"""Lattices: what is drawn, what is said of it, and what is refused."""

import re
from xml.etree import ElementTree

import pytest
from tests.viz.told import told

from strukt.viz import Lattice, svg, terminal

TWO = Lattice(
    ["a<b", "c"],
    ["X", "never", "Y"],
    [[0.75, 0.0, 0.25], [0.2, 0.005, 0.795]],
    [[[0.15, 0.005, 0.595], [0.0, 0.0, 0.0], [0.05, 0.0, 0.2]]],
    "tags",
)


def test_improbable_tags_and_steps_are_left_out():
    assert TWO.used() == [0, 2]
    assert [(step.before, step.after) for step in TWO.steps()] == [(0, 0), (0, 2), (2, 0), (2, 2)]
    picture = svg.draw(TWO)
    assert picture.count('class="node"') == 4
    assert picture.count('class="step"') == 4
    assert "never" not in picture


def test_the_picture_is_sound_and_says_what_it_shows():
    root = ElementTree.fromstring(svg.document(TWO))
    assert told(root) == ("tags", "tags; a<b: X 0.75, Y 0.25; c: Y 0.80, X 0.20")
    opacity = [float(found) for found in re.findall(r'fill-opacity="([\d.]+)"', svg.draw(TWO))]
    assert opacity == [0.75, 0.2, 0.25, 0.8]


@pytest.mark.parametrize("forms", [[], ["one"]])
def test_sentences_without_steps(forms):
    lattice = Lattice(forms, ["X"], [[1.0]] * len(forms), [])
    assert svg.draw(lattice).count('class="node"') == len(forms)


@pytest.mark.parametrize(
    ("marginals", "transitions", "message"),
    [
        ([[1.0]], [[[1.0]]], "marginals does not have 2 rows of 1; expected"),
        ([[1.0], [1.0]], [], "transitions does not have 1 tables of 1 rows of 1"),
        ([[1.0], [float("nan")]], [[[1.0]]], "expected probabilities, between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(marginals, transitions, message):
    with pytest.raises(ValueError, match=message):
        Lattice(["a", "b"], ["X"], marginals, transitions)


def test_a_word_without_a_probable_tag_has_a_line():
    tags = [str(tag) for tag in range(200)]
    lattice = Lattice(["a", "b"], tags, [[1 / 200] * 200] * 2, [[[1 / 40_000] * 200] * 200])
    assert terminal.draw(lattice).split("\n") == ["a", "b"]
