"""An infinite cross-entropy is a constant, under every transform of PyTorch, too; its law has the derivatives."""

import pytest
import torch
from torch.distributions import kl_divergence

from strukt import PCFG, LinearChain, NonProjectiveTree, ProjectiveTree, SpanningTree

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*should not be instantiated"),  # by torch.compile
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated"),  # by forward mode
]

LENGTHS = torch.tensor([4, 4, 3])


def chains(dtype=torch.float64):
    """Scores of tags, and the transitions that items share, of two distributions; the other forbids a tag."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((3, 4, 2), (2, 2), (3, 4, 2), (2, 2))
    unary, transition, other, others_transition = (
        torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes
    )
    other[1, 2, 0] = -torch.inf
    return unary, transition, other, others_transition


def divergence(unary, transition, other, others_transition, lengths=LENGTHS):
    return kl_divergence(LinearChain(unary, transition, lengths), LinearChain(other, others_transition, lengths))


def loss(*scores):
    value = divergence(*scores)
    return torch.where(value.isfinite(), value, 0.0).sum()


def without_the_item():
    """The gradients of the loss without the infinite item, of the scores of which they are 0."""
    scores = [score.requires_grad_() for score in chains()]
    chosen = [scores[0][[0, 2]], scores[1], scores[2][[0, 2]], scores[3]]
    return torch.autograd.grad(divergence(*chosen, LENGTHS[[0, 2]]).sum(), scores)


def agree(grads):
    for grad, right in zip(grads, without_the_item(), strict=True):
        assert torch.allclose(grad, right)


def test_other_items_keep_their_gradients_with_shared_scores():
    scores = [score.requires_grad_() for score in chains()]
    value = divergence(*scores)
    assert value[1] == torch.inf
    for factors in ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0, torch.inf, 1.0]):
        factors = torch.tensor(factors, dtype=torch.float64)
        agree(torch.autograd.grad(value, scores, factors, retain_graph=True))
    agree(torch.autograd.grad(value.square().sqrt().sum(), scores))


def test_batches_of_gradients():
    scores = [score.requires_grad_() for score in chains()]
    value = divergence(*scores)
    grads = torch.autograd.grad(value, scores, torch.eye(3, dtype=torch.float64), is_grads_batched=True)
    assert all((grad[1] == 0).all() for grad in grads)
    agree([grad.sum(0) for grad in grads])


def test_functional_gradients_and_maps():
    agree(torch.func.grad(loss, (0, 1, 2, 3))(*chains()))
    unary, transition, other, others_transition = chains()

    def of_one(unary, other, length):
        p, q = LinearChain(unary, transition, length), LinearChain(other, others_transition, length)
        return p.cross_entropy(q)

    grads = torch.func.vmap(torch.func.grad(of_one, (0, 1)))(unary, other, LENGTHS)
    assert all((grad[1] == 0).all() and grad.isfinite().all() for grad in grads)


def test_forward_mode():
    scores = chains()
    directions = tuple(torch.ones_like(score) for score in scores)
    value, change = torch.func.jvp(divergence, scores, directions)
    assert value[1] == torch.inf
    assert change[1] == 0
    right = sum(grad.sum() for grad in without_the_item())
    assert torch.allclose(change.sum(), right)


def test_compiled():
    scores = [score.requires_grad_() for score in chains()]
    agree(torch.autograd.grad(torch.compile(loss, fullgraph=True, backend="aot_eager")(*scores), scores))


def test_no_structure_in_either_distribution():
    """There is nothing to be surprised by: the divergence of nothing is 0, that to nothing infinite."""
    unary, transition, other, others_transition = chains()
    other[1] = -torch.inf
    assert divergence(unary, transition, other, others_transition)[1] == torch.inf
    unary[1] = -torch.inf
    scores = [score.requires_grad_() for score in (unary, transition, other, others_transition)]
    value = divergence(*scores)
    assert value[1] == 0
    agree(torch.autograd.grad(value.sum(), scores))


def test_an_edge_that_the_other_distribution_requires():
    edges = torch.randn(2, 3, 3, dtype=torch.float64)
    edges = (edges + edges.mT).requires_grad_()
    required = torch.zeros(2, 3, 3, dtype=torch.bool)
    required[0, 1, 0] = required[0, 0, 1] = True
    trees = SpanningTree(edges)
    value = trees.cross_entropy(trees.condition(required=required))
    assert value.isinf().tolist() == [True, False]
    (grad,) = torch.autograd.grad(torch.where(value.isfinite(), value, 0.0).sum(), edges)
    assert (grad[0] == 0).all()
    assert grad.isfinite().all()


@pytest.mark.parametrize("missing", ["a label", "all labels"])
def test_labels_of_arcs(missing):
    arcs = torch.randn(2, 3, 4, 2, dtype=torch.float64, requires_grad=True)
    other = torch.zeros(2, 3, 4, 2, dtype=torch.float64)
    other[0, 1, 0, 1 if missing == "a label" else slice(None)] = -torch.inf
    other.requires_grad_()
    value = NonProjectiveTree(arcs).cross_entropy(NonProjectiveTree(other))
    assert value.isinf().tolist() == [True, False]
    for grad in torch.autograd.grad(value.sum(), (arcs, other)):
        assert (grad[0] == 0).all()
        assert (grad[1] != 0).any()
        assert grad.isfinite().all()


def without_a_dead_end(divergent):
    """Check the gradient if q forbids a part that p allows, but that no structure of p can use.

    The gradient with respect to p does not depend on the score that q gives to such a part.
    """
    infinite, finite = divergent(-torch.inf), divergent(0.5)
    for value, grads in (infinite, finite):
        assert value.isfinite().all()
        assert all(grad.isfinite().all() for grad in grads)
    for grad, right in zip(infinite[1], finite[1], strict=True):
        assert torch.allclose(grad, right)


def derivatives(value, scores):
    value = torch.where(value.isfinite(), value, 0.0)
    return value, torch.autograd.grad(value.sum(), scores)


@pytest.mark.parametrize("labels", [2, 3])
def test_a_label_that_only_the_other_forbids_at_an_arc_of_no_tree(labels):
    generator = torch.Generator().manual_seed(0)
    mine, theirs = (torch.randn(3, 4, labels, generator=generator, dtype=torch.float64) for _ in range(2))
    mine[2, 0] = mine[2, 1] = -torch.inf  # word 3 depends on word 2, which cannot depend on it

    def divergent(score):
        arcs, others = mine.clone().requires_grad_(), theirs.clone()
        others[1, 3, 0] = score
        return derivatives(ProjectiveTree(arcs).cross_entropy(ProjectiveTree(others)), [arcs])

    without_a_dead_end(divergent)


@pytest.mark.parametrize("part", ["rule", "word", "span", "all labels of a span"])
def test_a_part_that_only_the_other_forbids_in_no_tree_of_a_grammar(part):
    generator = torch.Generator().manual_seed(0)
    shapes = ((2,), (2, 4, 4), (2, 4, 2), (2, 5, 5, 4))
    mine, theirs = (
        [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes] for _ in range(2)
    )
    mine[2][:, :, 1] = -torch.inf  # no word has preterminal 1
    mine[3][:, 1, 4] = -torch.inf  # so that the span (1, 3) has no parent on its right
    mine[3][:, 0, 3] = -torch.inf
    mine[3][:, 2, 3, 3] = 1.0

    def divergent(score):
        scores = [score.clone().requires_grad_() for score in mine]
        root, rules, emission, spans = map(torch.clone, theirs)
        if part == "rule":
            rules[0, 3, 1] = score
        elif part == "word":
            emission[:, 2, 1] = score
        else:
            spans[:, 1, 3, 0 if part == "span" else slice(None)] = score
        p, q = (PCFG(*each[:3], spans=each[3]) for each in (scores, (root, rules, emission, spans)))
        return derivatives(p.cross_entropy(q), scores)

    without_a_dead_end(divergent)


def test_rules_that_only_the_other_forbids_if_all_cross_entropies_are_infinite():
    generator = torch.Generator().manual_seed(0)
    root, rules, emission = (
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in ((2,), (2, 4, 4), (3, 4, 2))
    )
    other = rules.detach().clone()
    other[0, 0, 1] = -torch.inf  # items share the rules
    value = PCFG(root, rules, emission).cross_entropy(PCFG(root.detach(), other, emission.detach()))
    assert (value == torch.inf).all()
    _, grads = derivatives(value, [root, rules, emission])
    assert all((grad == 0).all() for grad in grads)
