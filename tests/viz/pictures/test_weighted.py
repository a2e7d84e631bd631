"""Sets of weighted structures: drawn, told and bounded in every way."""

import xml.etree.ElementTree as ElementTree

import pytest
from tests.viz.told import told

from strukt.viz import Bracket, BracketDiagram, Diagram, WeightedStructures, svg, terminal

FORMS = ["a<b", "&"]
TREES = [Diagram(FORMS, heads=heads) for heads in ([2, 0], [0, 1])]
FOUND = WeightedStructures(
    [*TREES, BracketDiagram(FORMS, [Bracket("X", 0, 2)])], [0.5, 0.25, 0.125], "of <it>", 2, 0.125
)


def test_the_description_tells_every_structure_with_its_weight():
    assert FOUND.description() == (
        "of <it>. Weight 0.50: a<b &. Heads: a<b below &, & root. "
        "Weight 0.25: a<b &. Heads: a<b root, & below a<b. "
        "Weight 0.12: (X a<b &). 2 more, weight .12 together."
    )
    assert WeightedStructures(TREES, [0.5, 0.5]).heading == "Weighted structures"


def test_bars_are_as_long_as_structures_are_heavy():
    root = ElementTree.fromstring(svg.draw(FOUND))
    assert told(root) == ("of <it>", FOUND.description())
    bars = [float(bar.get("width")) for bar in root.findall("{*}rect")]
    assert [bar / bars[0] for bar in bars] == [1.0, 0.5, 0.25]
    assert [text.text for text in root.findall("{*}text")] == [
        "of <it>", "weight .50", "weight .25", "weight .12", "2 more, weight .12 together",
    ]  # fmt: skip


def test_pictures_stand_below_their_weights_inside_the_whole():
    root = ElementTree.fromstring(svg.draw(FOUND))
    nested = root.findall("{*}svg")
    assert [told(each)[1] for each in nested] == [picture.description() for picture in FOUND.pictures]
    bottom = 0.0
    for bar, each in zip(root.findall("{*}rect"), nested, strict=True):
        assert bottom <= float(bar.get("y"))
        assert float(bar.get("y")) + float(bar.get("height")) <= float(each.get("y"))
        bottom = float(each.get("y")) + float(each.get("height"))
        assert float(each.get("width")) <= float(root.get("width"))
    assert bottom <= float(root.get("height"))


@pytest.mark.parametrize("width", [20, 80])
def test_in_the_terminal_each_stands_under_its_weight(width):
    lines = terminal.draw(FOUND, width).splitlines()
    assert lines[0] == "of <it>"
    assert lines[-1] == "2 more, weight .12 together"
    bars = [line for line in lines if "█" in line]
    assert [bar.split()[:2] for bar in bars] == [["weight", ".50"], ["weight", ".25"], ["weight", ".12"]]
    assert all(len(bar) <= width for bar in bars)
    drawn = "\n".join(lines)
    assert all(terminal.draw(picture, width) in drawn for picture in FOUND.pictures)


@pytest.mark.parametrize(
    ("weights", "rest", "message"),
    [
        ([1.0], {}, "has 1 entries; expected 2, one for each picture"),
        ([0.5, 1.5], {}, "has 1.5; expected probabilities"),
        ([0.5, float("nan")], {}, "has nan; expected probabilities"),
        ([0.5, 0.5], {"rest": 1.5}, "rest has 1.5; expected probabilities"),
        ([0.5, 0.5], {"others": -1}, "others is -1; expected"),
    ],
)
def test_what_are_no_weights_is_refused(weights, rest, message):
    with pytest.raises(ValueError, match=message):
        WeightedStructures(TREES, weights, **rest)
