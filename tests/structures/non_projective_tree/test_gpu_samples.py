"""Trees that walks on a GPU draw, or else in Triton's interpreter, have their probabilities."""

import pytest
import torch
from tests.frequencies import assert_frequencies
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.scores import normal

from strukt.distributions import NonProjectiveTree, SpanningTree
from strukt.structures.non_projective_tree import gpu

pytestmark = needed

ROOTS = pytest.mark.parametrize(
    "single_root", [True, pytest.param(False, marks=SLOW)], ids=["single root", "any root"]
)
DRAWN = 20_000 if ON_GPU else 150


def drawn(arcs, lengths, single_root, count=DRAWN):
    """Heads drawn by the kernels, and a second time with the same seed."""

    def samples():
        torch.manual_seed(0)
        given = arcs.to(DEVICE), lengths.to(DEVICE), single_root, count
        return gpu.sample(*given)[0].cpu()

    return by_kernels(samples)


@SLOW
@ROOTS
@pytest.mark.parametrize("steps", [32, 0, 1], ids=["in time", "never", "seldom"])
def test_trees_have_their_probabilities(steps, single_root, monkeypatch):
    """Also if the CPU draws all trees or some of them, because walks take more steps than they may."""
    monkeypatch.setattr(gpu, "MOST_STEPS", steps)
    arcs = normal(1, 3, 4)
    arcs[0, 0, 2] = -torch.inf
    arcs[0, 1] += 1.5 * torch.tensor([0.0, 0.0, 0.0, 1.0])
    arcs[0, 2] += 1.5 * torch.tensor([0.0, 0.0, 1.0, 0.0])  # walks return often
    heads = drawn(arcs, torch.tensor([3]), single_root)[0]
    assert_frequencies(NonProjectiveTree(arcs[0], single_root=single_root), heads)


@ROOTS
def test_items_of_all_lengths(single_root):
    """The third item has no tree, the fourth a single one, and neither words nor the padding are read wrongly."""
    arcs, lengths = normal(5, 4, 5), torch.tensor([4, 2, 3, 3, 0])
    arcs[2, 1] = -torch.inf
    arcs[3, :3] = torch.full((3, 5), -torch.inf).scatter(1, torch.tensor([[2], [0], [1]]), 0.0)
    for item, length in zip(arcs, lengths, strict=True):
        item[length:] = torch.nan
        item[:, length + 1 :] = torch.nan
    heads = drawn(arcs, lengths, single_root, 2)
    assert torch.equal(heads, drawn(arcs, lengths, single_root, 2))
    assert (heads[2] == -1).all()
    assert (heads[3] == torch.tensor([2, 0, 1, -1])).all()
    assert (heads[4] == -1).all()
    trees = NonProjectiveTree(arcs[:2], lengths[:2], single_root=single_root, validate_args=False)
    assert trees.is_structure(heads[:2].transpose(0, 1)).all()
    assert (heads[1, :, 2:] == -1).all()


@ROOTS
def test_scores_that_are_nan_have_no_trees(single_root, monkeypatch):
    """No walk begins, which would read shares of words that are not there until it is lost."""
    monkeypatch.setattr(gpu, "_draw_unfinished", None)
    arcs = normal(2, 3, 4)
    arcs[0, 1] = torch.nan
    heads = drawn(arcs, torch.tensor([3, 3]), single_root, 2)
    assert (heads[0] == -1).all()
    assert (heads[1] >= 0).all()


@SLOW
@ROOTS
def test_words_that_strongly_prefer_each_other(single_root):
    """Walks between them do not end."""
    arcs = normal(1, 3, 4)
    arcs[0, 0, 2] += 60.0
    arcs[0, 1, 1] += 60.0
    heads = drawn(arcs, torch.tensor([3]), single_root, 20)[0]
    marginals = NonProjectiveTree(arcs[0], single_root=single_root).marginals
    assert (marginals.gather(1, heads.T) > 1e-9).all()


@SLOW
def test_spanning_trees_have_their_probabilities():
    edges = normal(3, 3)

    def samples():
        torch.manual_seed(0)
        return SpanningTree(edges.to(DEVICE)).sample((DRAWN,)).cpu()

    assert_frequencies(SpanningTree(edges), by_kernels(samples))
