"""Results of inference show themselves: each structure as its family is drawn, with its weight."""

import xml.etree.ElementTree as ElementTree

import pytest
import torch
from tests.viz.told import told

from strukt import KSubset, LinearChain, Matching, NonProjectiveTree, ProjectiveTree, SemiMarkov, SpanTree
from strukt.inference.sparsemap import SparseMAP
from strukt.viz import svg
from strukt.viz.structures import LEAST, MOST, of_sparsemap, picture, weighted


def scores(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch):
    """Kernels would be compiled for these pictures alone."""
    monkeypatch.setenv("STRUKT_BACKEND", "reference")


RESULTS = {
    "trees": lambda: ProjectiveTree(scores(4, 5)),
    "tags": lambda: LinearChain(scores(4, 3), scores(3, 3)),
    "spans": lambda: SpanTree(scores(5, 5, 2)),
    "segments": lambda: SemiMarkov(scores(4, 2, 2), scores(2, 2)),
    "subsets": lambda: KSubset(scores(5), 2),
    "matchings": lambda: Matching(scores(3, 3)),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_notebook_draws_what_sparsemap_gives(kind):
    distribution = RESULTS[kind]()
    result = distribution.sparsemap()
    root = ElementTree.fromstring(result._repr_svg_())
    [found] = of_sparsemap(result)
    assert told(root) == ("Weighted structures", found.description())
    assert list(found.weights) == sorted(found.weights, reverse=True)
    assert sum(found.weights) + found.rest == pytest.approx(1.0)
    assert min(found.weights) >= LEAST
    assert len(found.pictures) + found.others == int((result.weights > 0).sum())


def test_trees_are_arcs_over_positions_or_words():
    result = NonProjectiveTree(scores(4, 5)).sparsemap()
    [numbered], [named] = of_sparsemap(result), of_sparsemap(result, ["a", "b", "c", "d"])
    order = result.weights.argsort(descending=True)[: len(named.pictures)]
    assert [tree.heads for tree in named.pictures] == result.events[order].tolist()
    assert named.pictures[0].forms == ["a", "b", "c", "d"]
    assert numbered.pictures[0].forms == ["1", "2", "3", "4"]
    assert numbered.pictures[0].heads == named.pictures[0].heads


def test_a_batch_is_a_set_for_each_item_without_its_padding():
    result = ProjectiveTree(scores(2, 4, 5), torch.tensor([4, 2])).sparsemap()
    first, second = of_sparsemap(result)
    assert (first.title, second.title) == ("item 0", "item 1")
    assert [len(tree.forms) for tree in second.pictures] == [2] * len(second.pictures)
    assert ElementTree.fromstring(result._repr_svg_()).find("{*}title").text == "2 pictures"
    assert len(of_sparsemap(ProjectiveTree(scores(MOST + 3, 2, 3)).sparsemap())) == MOST
    assert ProjectiveTree(scores(0, 2, 3)).sparsemap()._repr_svg_() is None


def test_what_requires_gradients_is_drawn_too():
    result = ProjectiveTree(scores(3, 4).requires_grad_()).sparsemap()
    assert result.weights.requires_grad
    assert result._repr_svg_().startswith("<svg")


def test_what_is_of_no_distribution_is_shown_as_text():
    result = ProjectiveTree(scores(3, 4)).sparsemap()
    bare = SparseMAP(*(getattr(result, name) for name in list(result.__dataclass_fields__)[:-1]))
    assert bare._repr_svg_() is None
    with pytest.raises(ValueError, match=r"result\.family is None"):
        of_sparsemap(bare)


def test_spans_and_segments_are_brackets():
    event = torch.full((4, 4), -1)
    event[0, 3], event[0, 1], event[1, 3], event[1, 2], event[2, 3] = 1, 0, 1, 0, 0
    assert picture(SpanTree, event, ["a", "b", "c"], ["X", "Y"]).text() == "(Y (X a) (Y (X b) (X c)))"
    segments = torch.tensor([1, -1, 0, -1])
    assert picture(SemiMarkov, segments, labels=["X", "Y"]).text() == "(Y 1 2) (X 3 4)"


def test_tags_have_their_names_and_lengths():
    tags = picture(LinearChain, torch.tensor([1, 0, -1]), labels=["X", "Y"])
    assert (tags.forms, tags.tags) == (["1", "2"], ["Y", "X"])
    assert picture(LinearChain, torch.tensor([1, 0])).tags == ["1", "0"]


@pytest.mark.parametrize("event", [torch.tensor([0, 1]), torch.tensor([[2, 0], [0, 1]])])
def test_too_few_labels_are_refused(event):
    family = LinearChain if event.dim() == 1 else ProjectiveTree
    with pytest.raises(ValueError, match="labels has 1 entries; expected at least 2"):
        picture(family, event, labels=["X"])


def test_the_best_few_are_drawn_with_their_probabilities():
    tree = ProjectiveTree(scores(5, 6))
    _, best = tree.topk(20)
    probabilities = tree.log_prob(best).exp()
    found = weighted(ProjectiveTree, best, probabilities, title="best")
    assert [drawn.heads for drawn in found.pictures] == best[: len(found.pictures)].tolist()
    assert list(found.weights) == probabilities[: len(found.pictures)].tolist()
    assert len(found.pictures) <= MOST
    assert found.others == 20 - len(found.pictures)
    assert found.rest == pytest.approx(probabilities[len(found.pictures) :].sum().item())
    assert svg.draw(found)


def test_trees_with_labels_have_them_on_their_arcs():
    tree = torch.tensor([[2, 1], [0, 0], [-1, -1]])
    named = picture(NonProjectiveTree, tree, ["Dogs", "bark"], ["root", "nsubj"])
    assert (named.heads, named.relations) == ([2, 0], ["nsubj", "root"])
    assert picture(ProjectiveTree, tree).relations == ["1", "0"]
    [drawn] = of_sparsemap(ProjectiveTree(scores(4, 5, 2)).sparsemap())
    assert all(len(each.relations) == 4 for each in drawn.pictures)
