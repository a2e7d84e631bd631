"""Structures laid over each other: which parts all have, and the weight of those that some have."""

import pytest
import torch

from strukt import ProjectiveTree
from strukt.viz import Bracket, BracketDiagram, Diagram, HeatMap, WeightedStructures
from strukt.viz.pictures.overlay.picture import MOST, OverlaidArc, OverlaidSpan, OverlaidTag
from strukt.viz.structures import weighted

FORMS = ["the", "dog", "the"]
HEADS = [[2, 0, 2], [2, 0, 1], [3, 0, 2]]
TREES = [Diagram(FORMS, heads=heads) for heads in HEADS]


def test_arcs_are_shared_or_weighted_by_the_trees_that_have_them():
    found = WeightedStructures(TREES, [0.5, 0.3, 0.002]).together()
    shares = {
        (part.word, part.head): (round(share.weight, 6), share.kind) for part, share in found.parts.items()
    }
    assert shares == {
        (1, 2): (0.8, "first"),
        (2, 0): (0.802, "shared"),
        (3, 2): (0.502, "first"),
        (3, 1): (0.3, "other"),
        (1, 3): (0.002, "other"),
    }
    assert found.description() == (
        "the dog the. 3 structures, weight .80. All have: dog root. "
        "The heaviest has: the (1) below dog .80, the (3) below dog .50. "
        "Only others have: the (3) below the (1) .30, the (1) below the (3) .002."
    )


def test_the_weights_of_all_trees_are_the_marginals_of_their_arcs(monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", "reference")  # kernels would be compiled for this picture alone
    trees = ProjectiveTree(torch.tensor([[0.3, -1.0, 0.5, 0.2], [1.0, 0.1, 0.0, 0.4], [0.2, 0.9, 0.3, -0.5]]))
    best = trees.topk(9)  # there are seven
    found = weighted(ProjectiveTree, best.events[:7], best.probs[:7]).together()
    assert found.weight == pytest.approx(1)
    for part, share in found.parts.items():
        if isinstance(part, OverlaidArc):
            assert share.weight == pytest.approx(trees.marginals[part.word - 1, part.head].item(), abs=1e-5)


def test_tags_and_brackets_are_laid_over_each_other_too():
    tags = [Diagram(["a", "b"], [first, "Y"]) for first in "XZ"]
    assert WeightedStructures(tags, [0.5, 0.25]).together().parts == {
        OverlaidTag(1, "X"): (0.5, "first"),
        OverlaidTag(2, "Y"): (0.75, "shared"),
        OverlaidTag(1, "Z"): (0.25, "other"),
    }
    spans = [
        BracketDiagram(FORMS, [Bracket("S", 0, 3), Bracket("NP", *inner, code=7)], bits=4)
        for inner in [(0, 2), (1, 3)]
    ]
    assert WeightedStructures(spans, [0.5, 0.25]).together().parts == {
        OverlaidSpan(0, 3, "S", ""): (0.75, "shared"),
        OverlaidSpan(0, 2, "NP", "7"): (0.5, "first"),
        OverlaidSpan(1, 3, "NP", "7"): (0.25, "other"),
    }


def test_a_label_that_differs_makes_two_arcs_of_one():
    trees = [Diagram(["a", "b"], heads=[2, 0], relations=[label, "root"]) for label in ("x", "y")]
    found = WeightedStructures(trees, [0.5, 0.25]).together()
    assert [found.parts[OverlaidArc(2, 1, label)].kind for label in "xy"] == ["first", "other"]


def test_only_the_heaviest_are_laid_over_each_other():
    trees = [Diagram(["a"], [f"T{number}"]) for number in range(MOST + 2)]
    found = WeightedStructures(trees, [0.05] * len(trees), others=3, rest=0.1).together()
    assert (found.count, found.others, len(found.parts)) == (MOST, 5, MOST)
    assert found.remark().startswith(f"{MOST} of {MOST + 5} in one picture")


@pytest.mark.parametrize(
    "pictures",
    [
        TREES[:1],
        [TREES[0], BracketDiagram(FORMS, [])],
        [TREES[0], Diagram(["a", "dog", "the"], heads=HEADS[0])],
        [HeatMap("", ["a"], ["b"], [[value]]) for value in (0.0, 1.0)],
    ],
)
def test_there_is_none_where_there_is_nothing_to_compare(pictures):
    assert WeightedStructures(pictures, [0.5] * len(pictures)).together() is None
