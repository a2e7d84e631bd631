"""One function draws everything that there is, in one style."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from tests.viz.told import told

from strukt.viz import (
    Bracket,
    BracketDiagram,
    Curves,
    Diagram,
    Graph,
    HeatMap,
    Interactions,
    Lattice,
    WeightedStructures,
)
from strukt.viz.svg import STYLE, document, draw

PICTURES = {
    "arcs": Diagram(["a", "b"], ["A", "B"], [2, 0], ["x", "root"], [0.5, 0.5], [0.5, 0.5]),
    "brackets": BracketDiagram(["a", "b"], [Bracket("X", 0, 2, 3, 0.5)], ["A", "B"], bits=4),
    "heat map": HeatMap("T", ["a"], ["b"], [[1.0]]),
    "graph": Graph("T", ["a", "b"], [[0.5, 0.5], [0.9, 0.1]]),
    "interactions": Interactions("T", ["a", "b", "c"], [[0, 1, -2], [1, 0, 3], [-2, 3, 0]], [(0, 1), (1, 2)]),
    "curves": Curves("T", ["1", "2"], {"a": [1.0, 2.0]}),
    "lattice": Lattice(["a", "b"], ["X"], [[1.0], [1.0]], [[[1.0]]], "T"),
    "structures": WeightedStructures(
        [Diagram(["a"], heads=[0]), Diagram(["a"], ["X"])], [0.7, 0.2], "T", 2, 0.1
    ),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_every_kind_is_drawn_in_the_one_style(kind):
    picture = draw(PICTURES[kind])
    assert PICTURES[kind]._repr_svg_() == document(PICTURES[kind]), "a notebook shows it"
    title, description = told(ElementTree.fromstring(picture))
    assert title
    assert description == PICTURES[kind].description()
    roles = set(re.findall(r'class="(\w+)"', picture)) - {"strukt", "chip"}
    assert roles
    assert all(f".strukt .{role} " in STYLE for role in roles)


HOSTILE = "<b>&\"'</svg>\x00"

HOSTILE_PICTURES = [
    Diagram([HOSTILE], [HOSTILE], [0], [HOSTILE], title=HOSTILE),
    BracketDiagram([HOSTILE], [Bracket(HOSTILE, 0, 1, probability=0.5)], [HOSTILE]),
    HeatMap(HOSTILE, [HOSTILE], [HOSTILE], [[1.0]]),
    Graph(HOSTILE, [HOSTILE], [[1.0]]),
    Interactions(HOSTILE, [HOSTILE, "b"], [[0, 1], [1, 0]], [(0, 1)]),
    Curves(HOSTILE, [HOSTILE], {HOSTILE: [1.0]}),
    Lattice([HOSTILE], [HOSTILE], [[1.0]], [], HOSTILE),
    WeightedStructures([Diagram([HOSTILE], heads=[0], relations=[HOSTILE])], [1.0], HOSTILE),
]


@pytest.mark.parametrize("picture", HOSTILE_PICTURES, ids=lambda picture: type(picture).__name__)
def test_all_text_is_escaped_also_what_is_read_out(picture):
    drawn = document(picture, picture)
    assert "<b>" not in drawn
    root = ElementTree.fromstring(drawn)
    shown = HOSTILE.replace("\x00", "�")
    texts = [element.text for element in root.iter() if element.text and not element.tag.endswith("style")]
    assert shown in texts
    pictures = [element for element in root.iter() if element.tag.endswith("svg")]
    assert len(pictures) >= 3
    assert all(shown in description for _, description in map(told, pictures))


def test_pictures_on_one_page_share_no_id():
    assert not re.findall(r"\bid=", "".join(map(draw, PICTURES.values())))


def test_several_pictures_stand_one_below_the_other_in_a_file():
    pictures = [PICTURES["arcs"], PICTURES["heat map"], Diagram(["a & b"], ["A"], title="weight <.5>")]
    root = ElementTree.fromstring(document(*pictures))
    alone = [ElementTree.fromstring(draw(picture)) for picture in pictures]
    nested = root.findall("{*}svg")
    assert [told(each) for each in nested] == [told(each) for each in alone]
    assert told(root) == ("3 pictures", " ".join(picture.description() for picture in pictures))
    tops = [int(each.get("y")) for each in nested]
    ends = [top + int(each.get("height")) for top, each in zip(tops, alone, strict=True)]
    assert tops[:2] == [0, ends[0]]
    (title,) = root.findall("{*}text")
    assert title.text == "weight <.5>"
    assert ends[1] < float(title.get("y")) < tops[2]
    assert int(root.get("height")) == ends[2]
    assert int(root.get("width")) == max(int(each.get("width")) for each in alone)
    assert root[2].tag.endswith("style")


@pytest.mark.parametrize("character", ["\ufffe", "\uffff", "\x00", "\ud800"])
def test_no_character_makes_xml_malformed(character):
    drawing = document(Diagram([f"a{character}"], [character], title=character))
    assert "".join(ElementTree.fromstring(drawing).itertext()).count("�") >= 3
