"""Structures laid over each other as SVG: every part once, escaped, told in words, and with room for all."""

import random
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from tests.viz.pictures.dependency_tree.test_picture import random_tree
from tests.viz.told import told

from strukt.viz import Bracket, BracketDiagram, Diagram, WeightedStructures, svg
from strukt.viz.canvas.svg import text_width

FORMS = ["a<b", "&", "c"]
HOSTILE = '<"&'


def trees(words, seed, count=4):
    generator = random.Random(seed)
    drawn = [random_tree(words, generator) for _ in range(count)]
    return [Diagram([f"w{place}" for place in range(words)], heads=heads) for heads in drawn]


def drawn(pictures):
    found = WeightedStructures(pictures, [1 / 2 ** (place + 1) for place in range(len(pictures))])
    return ElementTree.fromstring(svg.overlaid(found)), found.together()


@pytest.mark.parametrize("seed", range(3))
def test_every_arc_stands_once_with_its_kind_and_weight_and_ends_at_a_place_of_its_own(seed):
    root, found = drawn(trees(7, seed))
    assert told(root) == (found.heading, found.description())
    assert root.get("class") == "strukt overlay"
    groups = {(int(g.get("data-head")), int(g.get("data-word"))): g for g in root.findall("{*}g")}
    assert len(groups) == len(root.findall("{*}g")) == len(found.parts)
    for part, share in found.parts.items():
        group = groups[part.head, part.word]
        assert group.get("class") == share.kind
        numbers = [number.text for number in group.findall(".//{*}tspan")]
        assert numbers == ([share.number] if share.number else [])
    tips = [tip.get("d").split()[0:2] for tip in root.findall(".//{*}path") if tip.get("class") == "tip"]
    assert len({tuple(tip) for tip in tips}) == len(tips) == len(found.parts)
    assert all(0 < float(x[1:]) < float(root.get("width")) for x, _ in tips)


def test_labels_of_the_root_and_words_do_not_overlap():
    pictures = [
        Diagram(["i", "i"], heads=heads, relations=["relation", "relation"]) for heads in ([0, 1], [2, 0])
    ]
    root, _ = drawn(pictures)
    stems = [g.find("{*}text") for g in root.findall("{*}g") if g.get("data-head") == "0"]
    for left, right in pairwise(sorted(float(each.get("x")) for each in stems)):
        assert right - left > text_width("relation .50", 12.0)


def test_two_labels_of_the_root_stand_one_below_the_other():
    root, _ = drawn([Diagram(["a"], heads=[0], relations=[label]) for label in ("x", "y")])
    heights = [float(text.get("y")) for text in root.findall(".//{*}text") if text.get("class") == "label"]
    assert heights[1] - heights[0] >= 12


def test_tags_of_a_word_stand_below_each_other_the_heaviest_first():
    root, _ = drawn([Diagram(FORMS, tags) for tags in (["X", "Y", HOSTILE], ["Z", "Y", HOSTILE])])
    tags = [text for text in root.findall(".//{*}text") if text.get("class").startswith("tag")]
    assert ["".join(tag.itertext()) for tag in tags] == ["X .50", "Z .25", "Y", HOSTILE]
    assert [tag.get("class") for tag in tags] == ["tag first", "tag other", "tag shared", "tag shared"]
    assert (tags[3].get("data-word"), tags[3].get("data-tag")) == ("3", HOSTILE)
    assert float(tags[1].get("y")) > float(tags[0].get("y")) == float(tags[2].get("y"))
    assert float(tags[1].get("y")) < float(root.get("height"))


def test_brackets_that_cross_stand_above_each_other():
    spans = [
        BracketDiagram(FORMS, [Bracket("S", 0, 3), Bracket(HOSTILE, *inner)], ["X", "Y", "Z"])
        for inner in [(0, 2), (1, 3)]
    ]
    root, _ = drawn(spans)
    groups = root.findall("{*}g")
    labels = [group.find("{*}text") for group in groups]
    assert [(label.get("data-start"), label.get("data-end"), label.get("data-label")) for label in labels] == [
        ("0", "2", HOSTILE), ("1", "3", HOSTILE), ("0", "3", "S"),
    ]  # fmt: skip
    assert [group.get("class") for group in groups] == ["first", "other", "shared"]
    heights = [float(label.get("y")) for label in labels]
    assert heights == sorted(heights, reverse=True)
    assert len({*heights}) == 3
    assert min(heights) > 0


def test_a_set_shows_all_in_one_picture_first_and_then_each():
    pictures = trees(5, 1, 3)
    found = WeightedStructures(pictures, [0.5, 0.25, 0.125], "of it", 2, 0.125)
    root = ElementTree.fromstring(svg.draw(found))
    nested = root.findall("{*}svg")
    assert [told(each)[1] for each in nested] == [
        found.together().description(),
        *map(Diagram.description, pictures),
    ]
    texts = [text.text for text in root.findall("{*}text")]
    assert texts[:3] == ["of it", found.together().remark(), "weight .50"]
    bottoms = [float(each.get("y", 0)) + float(each.get("height")) for each in nested]
    assert all(bottom <= float(lower.get("y")) for bottom, lower in zip(bottoms, nested[1:], strict=False))
    assert all(float(each.get("width")) <= float(root.get("width")) for each in nested)


def test_a_single_structure_is_not_laid_over_itself():
    assert svg.overlaid(WeightedStructures(trees(3, 0, 1), [1.0])) is None
