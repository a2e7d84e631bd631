"""Projective trees with siblings: special cases, shared scores, long sentences, and messages."""

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference

from strukt import SecondOrderTree


def drawn(batch, n, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(n)
    arcs = scale * torch.randn(batch, n, n + 1, generator=generator, dtype=dtype)
    return arcs, scale * torch.randn(batch, n, n, n + 1, generator=generator, dtype=dtype)


def test_marginals_of_siblings_are_the_gradient():
    arcs, siblings = drawn(2, 5)
    siblings.requires_grad_()
    trees = SecondOrderTree(arcs, siblings, single_root=False)
    (gradient,) = torch.autograd.grad(trees.log_partition.sum(), siblings)
    assert torch.allclose(trees.sibling_marginals, gradient, atol=1e-12)
    events = trees.enumerate_support()
    pairs = (events == 0).sum(-1) - 1  # of words on the root, each behind another one
    expected = (trees.log_prob(events).exp() * pairs).sum(0)
    assert torch.allclose(trees.sibling_marginals[..., 0].sum((-1, -2)), expected)


def test_shared_siblings_get_the_gradient_of_all_items():
    arcs, siblings = drawn(3, 4)
    shared = siblings[0].clone().requires_grad_()
    SecondOrderTree(arcs, shared).log_partition.sum().backward()
    each = siblings[:1].expand(3, 4, 4, 5).clone().requires_grad_()
    SecondOrderTree(arcs, each).log_partition.sum().backward()
    assert torch.allclose(shared.grad, each.grad.sum(0), atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_long_sentences_agree_with_the_reference(on, scale):
    arcs, siblings = drawn(2, 14, scale=scale)

    def answers():
        trees = SecondOrderTree(arcs, siblings, [14, 9])
        return trees.log_partition, trees.marginals, trees.entropy(), trees.max_score

    assert_kernels_answer_as_the_reference(on, answers, 1e-9, 1e-10)


def test_neighbours_are_those_on_one_side():
    siblings = torch.zeros(4, 4, 5)
    siblings[3, 2, 2], siblings[3, 0, 2] = 1.0, 100.0  # of word 2: 4 behind 3; 4 and 1 are on different sides
    siblings[0, 0, 2] = 7.0  # no pair
    trees = SecondOrderTree(torch.zeros(4, 5), siblings)
    assert trees.score(torch.tensor([2, 0, 2, 2])) == 1.0
    assert trees.score(torch.tensor([2, 0, 2, 3])) == 0.0


def test_messages_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"siblings has shape \(3, 3, 3\); expected \(3, 3, 4\) or \(2, "):
        SecondOrderTree(torch.zeros(2, 3, 4), torch.zeros(3, 3, 3))
    siblings = torch.zeros(3, 3, 4)
    siblings[2, 1, 1] = -torch.inf
    trees = SecondOrderTree(torch.zeros(3, 4), siblings)
    assert trees.explain(torch.tensor([0, 1, 1])) == "the event has probability 0: siblings[2, 1, 1] is -inf"
    crossing = SecondOrderTree(torch.zeros(4, 5), torch.zeros(4, 4, 5)).explain(torch.tensor([3, 4, 0, 3]))
    assert "the arcs between the root and 3 and between 2 and 4 cross" in crossing


@pytest.mark.parametrize("name", ["entropy", "cross_entropy"])
def test_second_derivatives_of_mapped_sentences(name):
    arcs, siblings = drawn(3, 3)
    lengths = torch.tensor([3, 2, 0])

    def surprise(arcs, siblings, length):
        trees = SecondOrderTree(arcs, siblings, length)
        others = (SecondOrderTree(arcs / 2, siblings / 2, length),) if name == "cross_entropy" else ()
        return getattr(trees, name)(*others)

    def curvature(*arguments):
        slopes = torch.func.grad(lambda *each: surprise(*each).sum(), (0, 1))
        return torch.func.grad(lambda *each: sum(slope.cos().sum() for slope in slopes(*each)), (0, 1))(*arguments)

    mapped = torch.func.vmap(curvature)(arcs, siblings, lengths)
    for each, right in zip(mapped, curvature(arcs, siblings, lengths), strict=True):
        assert torch.allclose(each, right)
    shared = torch.func.vmap(lambda *each: curvature(*each, torch.tensor(3)))(arcs, siblings)
    assert torch.allclose(shared[0][0], mapped[0][0])
