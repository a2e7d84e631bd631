"""One function draws everything that there is, in one style."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from strukt.viz.brackets import Bracket, BracketDiagram
from strukt.viz.diagram import Diagram
from strukt.viz.graph import Graph
from strukt.viz.heat_map import HeatMap
from strukt.viz.svg import STYLE, document, draw

PICTURES = {
    "arcs": Diagram(["a", "b"], ["A", "B"], [2, 0], ["x", "root"], [0.5, 0.5], [0.5, 0.5]),
    "brackets": BracketDiagram(["a", "b"], [Bracket("X", 0, 2, 3, 0.5)], ["A", "B"], bits=4),
    "heat map": HeatMap("T", ["a"], ["b"], [[1.0]]),
    "graph": Graph("T", ["a", "b"], [[0.5, 0.5], [0.9, 0.1]]),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_every_kind_is_drawn_in_the_one_style(kind):
    picture = draw(PICTURES[kind])
    assert ElementTree.fromstring(picture).get("aria-label")
    roles = set(re.findall(r'class="(\w+)"', picture)) - {"strukt", "chip"}
    assert roles
    assert all(f".strukt .{role} " in STYLE for role in roles)


def test_what_has_no_drawing_is_refused():
    with pytest.raises(
        TypeError, match=r"^diagram: got a str, expected a Diagram or BracketDiagram or HeatMap or Graph"
    ):
        draw("Dogs bark")


def test_the_style_knows_light_and_dark():
    assert "prefers-color-scheme: dark" in STYLE


def test_several_pictures_stand_one_below_the_other_in_a_file():
    pictures = [PICTURES["arcs"], PICTURES["heat map"], Diagram(["a & b"], ["A"], title="weight <.5>")]
    root = ElementTree.fromstring(document(*pictures))
    alone = [ElementTree.fromstring(draw(picture)) for picture in pictures]
    nested = root.findall("{*}svg")
    assert [each.get("aria-label") for each in nested] == [each.get("aria-label") for each in alone]
    tops = [int(each.get("y")) for each in nested]
    ends = [top + int(each.get("height")) for top, each in zip(tops, alone, strict=True)]
    assert tops[:2] == [0, ends[0]]
    (title,) = root.findall("{*}text")
    assert title.text == "weight <.5>"
    assert ends[1] < float(title.get("y")) < tops[2]
    assert int(root.get("height")) == ends[2]
    assert int(root.get("width")) == max(int(each.get("width")) for each in alone)
    assert root[0].tag.endswith("style")
