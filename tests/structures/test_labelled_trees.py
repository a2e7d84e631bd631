"""Trees with labels: how shapes are read, what they have in common with trees without, samples, training."""

import warnings

import pytest
import torch
from tests.scores import normal
from torch.distributions import kl_divergence

from strukt import FactorGraph, NonProjectiveTree, ProjectiveTree
from strukt.factor_graph import factors
from strukt.nn.latent_trees import with_budget
from strukt.structures.tree_budgets import sparsemap_within_budget

KINDS = pytest.mark.parametrize("kind", [NonProjectiveTree, ProjectiveTree])


# How shapes are read.


@KINDS
@pytest.mark.parametrize("shape", [(3, 5, 6, 7), (5, 6, 7), (1, 2, 3)])
def test_a_shape_that_could_be_either_is_a_batch_without_labels(kind, shape):
    with pytest.warns(UserWarning, match=r"read as a batch without labels; say labelled=True"):
        assert not kind(torch.zeros(shape)).labelled
    batch, events = shape[:-3], (shape[-3], 2)
    labelled, plain = kind(torch.zeros(shape), labelled=True), kind(torch.zeros(shape), labelled=False)
    assert (labelled.batch_shape, labelled.event_shape) == (batch, events)
    assert (plain.batch_shape, plain.event_shape) == (shape[:-2], shape[-2:-1])


@KINDS
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # of PyTorch itself
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 3)])
def test_shapes_that_could_be_either_are_compiled_without_a_break(kind, shape):
    """PyTorch's compiler cannot trace warnings."""
    torch.compiler.reset()
    compiled = torch.compile(lambda arcs: kind(arcs).log_partition, backend="eager", fullgraph=True)
    arcs = normal(*shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = kind(arcs).log_partition
    torch.testing.assert_close(compiled(arcs), expected)


@KINDS
def test_lengths_tell_which_it_is(kind):
    arcs = torch.zeros(3, 5, 6, 7)
    assert kind(arcs, torch.tensor([5, 2, 0])).labelled
    assert not kind(arcs, torch.full((3, 5), 6)).labelled


@KINDS
@pytest.mark.parametrize("c", [1, 2, 6, 40])
def test_labels_are_seen_where_only_they_fit(kind, c):
    trees = kind(torch.zeros(3, 5, 6, c))
    assert trees.labelled
    assert trees.mode.shape == (3, 5, 2)
    assert trees.marginals.shape == (3, 5, 6, c)


@KINDS
def test_what_is_neither_is_refused(kind):
    for shape in ((3, 5, 5), (4, 4, 2), (5, 6, 0)):
        with pytest.raises(ValueError, match=rf"arcs has shape \({', '.join(map(str, shape))}\)"):
            kind(torch.zeros(shape), labelled=True)
    with pytest.raises(ValueError, match="or with labels batch"):
        kind(torch.zeros(3, 5, 5))


# What they have in common with trees without labels.


@KINDS
@pytest.mark.parametrize("single_root", [True, False])
def test_one_label_is_none(kind, single_root):
    arcs, lengths = normal(4, 6, 7), torch.tensor([6, 3, 1, 0])
    plain = kind(arcs, lengths, single_root)
    labelled = kind(arcs.unsqueeze(-1), lengths, single_root, labelled=True)
    for name in ("log_partition", "max_score", "log_count"):
        torch.testing.assert_close(getattr(labelled, name), getattr(plain, name))
    for name in ("marginals", "max_marginals"):
        torch.testing.assert_close(getattr(labelled, name).squeeze(-1), getattr(plain, name))
    torch.testing.assert_close(labelled.entropy(), plain.entropy())
    assert torch.equal(labelled.mode[..., 0], plain.mode)
    assert torch.equal(labelled.mode[..., 1], plain.mode.clamp(max=0))
    torch.testing.assert_close(labelled.topk(5)[0], plain.topk(5)[0])


@KINDS
@pytest.mark.parametrize("magnitude", [1.0, 1e3, 1e6])
def test_scores_of_any_size(kind, magnitude):
    """In float32, which the sums over labels are not taken in."""
    arcs = (magnitude * normal(4, 10, 11, 5)).float()
    single, double = kind(arcs), kind(arcs.double())
    torch.testing.assert_close(single.log_partition, double.log_partition.float())
    torch.testing.assert_close(single.marginals, double.marginals.float())
    assert torch.equal(single.mode, double.mode)
    torch.testing.assert_close(single.entropy(), double.entropy().float(), atol=1e-4, rtol=1e-4)


# Samples and training.


def test_many_samples_of_many_labels_agree_with_the_marginals():
    torch.manual_seed(0)
    trees = NonProjectiveTree(normal(6, 7, 20))
    found = trees.to_parts(trees.sample((20_000,))).mean(0)
    assert (found - trees.marginals).abs().max() < 0.02


@KINDS
def test_wrong_labels_are_no_tree(kind):
    trees = kind(torch.zeros(2, 3, 4), labelled=True)
    with pytest.raises(ValueError, match="made of heads 0 to 2 and labels 0 to 3"):
        trees.to_parts(torch.tensor([[0, 4], [1, 0]]))


def test_trees_with_and_without_labels_are_not_compared():
    arcs = torch.zeros(2, 3, 4)
    one, other = NonProjectiveTree(arcs, labelled=True), NonProjectiveTree(arcs, labelled=False)
    with pytest.raises(NotImplementedError):
        kl_divergence(one, other)
    with pytest.raises(NotImplementedError):
        kl_divergence(other, one)


# What reads trees without labels.


def test_a_factor_of_arcs_has_no_labels_whatever_the_batch():
    graph = FactorGraph()
    graph.add(factors.Tree(graph.variables(3, 4)))
    arcs = normal(2, 3, 4)
    expected = NonProjectiveTree(arcs, labelled=False).sparsemap().marginals
    torch.testing.assert_close(graph.lp_sparsemap(arcs).marginals, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("iterations", [None, 5])
def test_budgets_refuse_labels(iterations):
    trees = NonProjectiveTree(torch.zeros(2, 3, 4, 2))
    with pytest.raises(ValueError, match="trees has labels"):
        with_budget(trees, 1, iterations)
    with pytest.raises(ValueError, match="trees has labels"):
        sparsemap_within_budget(trees, 1)
