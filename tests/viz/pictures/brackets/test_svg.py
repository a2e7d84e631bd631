"""Constituents and entities as SVG: well-formed, escaped, and nothing touches."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.viz.pictures.brackets.test_picture import diagrams
from tests.viz.told import NAMESPACE, elements, told

from strukt.viz import Bracket, BracketDiagram
from strukt.viz.canvas.colour import ink_on
from strukt.viz.canvas.svg import text_width
from strukt.viz.svg import draw

TREE = BracketDiagram(
    ["The", "dog", "barks"],
    [Bracket("S", 0, 3, 0x2A, 1.0), Bracket("NP", 0, 2, 0x01, 0.25), Bracket("VP", 2, 3, 0x2A)],
    ["DT", "NN", "VBZ"],
    bits=6,
)
LABEL = st.sampled_from(["S", "NP", "WHADVP-TMP", "国境国境", "W" * 20])


def place(element):
    return float(element.get("x")), float(element.get("y"))


def test_everything_is_written_once():
    for role, expected in {
        "label": ["S", "NP", "VP"],
        "code": ["2a", "01", "2a"],
        "tag": ["DT", "NN", "VBZ"],
        "form": ["The", "dog", "barks"],
    }.items():
        assert [element.text.strip() for element in elements(draw(TREE), "text", role)] == expected


def test_codes_stand_on_their_colour_and_can_be_read():
    chips, codes = elements(draw(TREE), "rect", "chip"), elements(draw(TREE), "text", "code")
    assert chips[0].get("fill") == chips[2].get("fill") != chips[1].get("fill")
    for chip, code in zip(chips, codes, strict=True):
        assert code.get("fill") == ink_on(chip.get("fill"))
        (x, y), (centre, baseline) = place(chip), place(code)
        assert centre == x + float(chip.get("width")) / 2
        assert y < baseline < y + float(chip.get("height"))


def test_an_improbable_bracket_has_lighter_lines():
    opacities = [line.get("opacity") for line in elements(draw(TREE), "path", "branch")]
    assert opacities == ["1.00", "0.51", None]


def test_the_brackets_are_read_out():
    assert told(ElementTree.fromstring(draw(TREE))) == (
        "Words with brackets",
        "(S (NP The dog) (VP barks)). Tags: The DT, dog NN, barks VBZ. "
        "Brackets: S code 2a over The dog barks 1.00, NP code 01 over The dog 0.25, VP code 2a over barks.",
    )


def test_no_words_and_no_brackets_make_pictures_too():
    for tree in (BracketDiagram([], []), BracketDiagram(["a"], [])):
        assert ElementTree.fromstring(draw(tree)).tag == NAMESPACE + "svg"


def test_thousands_of_brackets_need_no_recursion():
    tree = BracketDiagram(["w"] * 2000, [Bracket("X", start, 2000) for start in range(2000)])
    assert draw(tree).count('class="branch"') == 2000


@given(diagrams(labels=LABEL))
def test_texts_at_one_height_do_not_touch(tree):
    for role, size in (("label", 12.0), ("form", 17.0)):
        rows = {}
        for text in elements(draw(tree), "text", role):
            x, y = place(text)
            rows.setdefault(y, []).append(
                (x - text_width(text.text, size) / 2, x + text_width(text.text, size) / 2)
            )
        for row in rows.values():
            assert all(left[1] < right[0] for left, right in pairwise(sorted(row)))


@given(diagrams(labels=LABEL))
def test_everything_lies_inside_the_picture(tree):
    picture = ElementTree.fromstring(draw(tree))
    width, height = float(picture.get("width")), float(picture.get("height"))
    for text in picture.iter(NAMESPACE + "text"):
        x, y = place(text)
        half = text_width(text.text, 17.0 if text.get("class") == "form" else 12.0) / 2
        assert half <= x <= width - half
        assert 10 < y < height


@given(diagrams())
def test_outer_labels_stand_higher(tree):
    heights = [place(label)[1] for label in elements(draw(tree), "text", "label")]
    for inner, outer in enumerate(tree.parents()):
        assert outer is None or heights[outer] < heights[inner]


@given(diagrams())
def test_lines_end_above_every_part(tree):
    bottom = {place(form)[0]: place(form)[1] - 15 for form in elements(draw(tree), "text", "form")}
    centres = [place(form)[0] for form in elements(draw(tree), "text", "form")]
    labels = [place(label) for label in elements(draw(tree), "text", "label")]
    children = tree.children()
    for bracket, line in enumerate(elements(draw(tree), "path", "branch")):
        lowest = {}
        for x, y in points(line.get("d")):
            lowest[x] = max(y, lowest.get(x, 0.0))
        for part in children[bracket]:
            if part.bracket is None:
                x, y = centres[part.start], bottom[centres[part.start]]
            else:
                x, y = labels[part.bracket][0], labels[part.bracket][1] - 12
            assert lowest[x] == y


def points(path):
    """The ends of the lines of a path."""
    x = y = 0.0
    for command, numbers in re.findall(r"([MVHQ])([\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        x = values[0] if command == "H" else x if command == "V" else values[-2]
        y = y if command == "H" else values[-1]
        yield x, y
