"""Graphs: which edges are drawn, and where."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from tests.viz.told import told

from strukt.viz import Edge, Graph, svg

WEATHER = Graph("Weather", ["sun", "rain & wind"], [[0.9, 0.1], [0.995, 0.005]])


def test_the_strongest_edges_of_each_node():
    weights = [[0.0] * 5 for _ in range(5)]
    weights[1] = [0.1, 0.3, 0.2, 0.25, 0.15]
    weights[4][0] = 0.01
    graph = Graph("T", list("abcde"), weights)
    assert graph.edges() == [Edge(1, 1, 0.3), Edge(1, 3, 0.25), Edge(1, 2, 0.2)]
    assert graph.description() == "T: b → b 0.30, b → d 0.25, b → c 0.20"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[1.0, 0.0]], "weights does not have 2 rows of 2; expected"),
        ([[1.0], [0.0]], "weights does not have 2 rows of 2; expected"),
        ([[1.0, 0.0], [1.5, 0.0]], "has 1.5 in row 'b'; expected 0 to 1"),
        ([[1.0, float("nan")], [0.5, 0.0]], "has nan in row 'a'"),
    ],
)
def test_weights_that_do_not_fit(weights, message):
    with pytest.raises(ValueError, match=message):
        Graph("T", ["a", "b"], weights)


def test_the_picture_has_every_node_and_edge_inside_its_borders():
    root = ElementTree.fromstring(svg.draw(WEATHER))
    assert told(root) == ("Weather", WEATHER.description())
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert texts == ["Weather", "sun", "rain & wind"]
    kinds = [(element.tag.rsplit("}")[-1], element.get("class")) for element in root.iter()]
    assert kinds.count(("circle", "tip")) == 2
    assert kinds.count(("circle", "arc")) == 1, "from sun to itself"
    assert kinds.count(("path", "arc")) == kinds.count(("path", "tip")) == 2
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for name, most in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            assert 0 <= float(element.get(name, 0)) <= most


def test_stronger_edges_are_darker():
    found = [float(value) for value in re.findall(r'class="arc"[^>]*opacity="([\d.]+)', svg.draw(WEATHER))]
    assert found == [0.94, 0.41, 1.0]


@pytest.mark.parametrize("count", [0, 1, 30])
def test_any_number_of_nodes(count):
    weights = [[1.0 / count] * count for _ in range(count)]
    graph = Graph("T", [f"node {place}" for place in range(count)], weights)
    assert svg.draw(graph).count('class="label"') == count
