"""Kernels of the derivative of marginals: equal to the reference, symmetric, exactly 0 where it must be."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference
from tests.kernels.test_backends import CHANGES, lengths, normal, sparse, steep, unchanged, uneven
from torch import Tensor
from torch.distributions import Distribution

from strukt.distributions import BitSpanTree, LinearChain, NonProjectiveTree, SpanTree
from strukt.kernels import dispatch
from strukt.kernels.engine.items import EXTENDED, PLAIN
from strukt.structures.linear_chain import cpu as chain_cpu
from strukt.structures.non_projective_tree import cpu as matrix_tree_cpu
from strukt.structures.span_tree.cpu import TABLE

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)


@dataclass(frozen=True)
class Kind:
    """A structure: its distribution of scores and lengths; for n words its scores, and those that are not read."""

    make: Callable[..., Distribution]
    draw: Callable[[int, int], tuple[Tensor, ...]]
    beyond: Callable[[int, Tensor], Tensor]


def spans_beyond(n, each):
    """Spans that are empty, or end beyond the length."""
    ends = torch.arange(n + 1)
    return (ends[:, None] >= ends) | (ends > each[:, None, None])


def tags_beyond(n, each):
    """Tags of positions beyond the length."""
    return torch.arange(n) >= each[:, None]


def arcs_beyond(n, each):
    """Arcs from and to words beyond the length, and of a word to itself."""
    words, heads = torch.arange(1, n + 1)[:, None], torch.arange(n + 1)
    return (words == heads) | (torch.maximum(words, heads) > each[:, None, None])


KINDS = {
    "spans": Kind(
        lambda spans, each: SpanTree(spans, each, labelled=False),
        lambda n, seed: (normal(5, n + 1, n + 1, seed=seed),),
        spans_beyond,
    ),
    "labels": Kind(
        lambda spans, each: SpanTree(spans, each, labelled=True),
        lambda n, seed: (normal(5, n + 1, n + 1, 4, seed=seed),),
        spans_beyond,
    ),
    "codes": Kind(
        lambda positive, negative, each: BitSpanTree(positive, each, negative=negative),
        lambda n, seed: (normal(5, n + 1, n + 1, 3, seed=seed), normal(5, n + 1, n + 1, 3, seed=seed + 1)),
        spans_beyond,
    ),
    "chains": Kind(
        lambda unary, transition, each: LinearChain(unary, transition, each),
        lambda n, seed: (normal(5, n, 4, seed=seed), normal(4, 4, seed=seed + 1)),
        tags_beyond,
    ),
    "chains per item": Kind(
        lambda unary, transition, each: LinearChain(unary, transition, each),
        lambda n, seed: (normal(5, n, 4, seed=seed), normal(5, 4, 4, seed=seed + 1)),
        tags_beyond,
    ),
    "chains per step": Kind(
        lambda unary, transition, each: LinearChain(unary, transition, each),
        lambda n, seed: (normal(5, n, 4, seed=seed), normal(5, max(n - 1, 0), 4, 4, seed=seed + 1)),
        tags_beyond,
    ),
    "trees": Kind(
        lambda arcs, each: NonProjectiveTree(arcs, each, single_root=False),
        lambda n, seed: (normal(5, n, n + 1, seed=seed),),
        arcs_beyond,
    ),
    "single roots": Kind(
        lambda arcs, each: NonProjectiveTree(arcs, each, single_root=True),
        lambda n, seed: (normal(5, n, n + 1, seed=seed),),
        arcs_beyond,
    ),
}
SIZES = [0, 1, 2, 3, 9]


def products(
    kind: str, scores: tuple[Tensor, ...], each: Tensor, directions: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Of the log-partitions of all items, weighted: the Hessian in a direction; the slope of each item in it."""
    leaves = tuple(score.detach().requires_grad_() for score in scores)
    weights = torch.linspace(-1, 2, len(each)).to(leaves[0]).requires_grad_()
    log_partition = KINDS[kind].make(*leaves, each).log_partition
    first = torch.autograd.grad(log_partition, leaves, weights, create_graph=True, materialize_grads=True)
    slope = sum((grad * direction.to(grad)).sum() for grad, direction in zip(first, directions, strict=True))
    return torch.autograd.grad(slope, (*leaves, weights), materialize_grads=True)


def changed(kind: str, n: int, change: Callable[[Tensor], Tensor]) -> tuple[Tensor, ...]:
    return tuple(change(score) for score in KINDS[kind].draw(n, 0))


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_the_reference(on, poisoned_memory, kind, n, change, tolerance):
    scores, directions = changed(kind, n, change), KINDS[kind].draw(n, 2)
    assert_kernels_answer_as_the_reference(
        on, lambda: products(kind, scores, lengths(n), directions), tolerance
    )


@pytest.mark.parametrize("change", [sparse, uneven])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_impossible_has_no_derivative(on, kind, change):
    on("cpu")
    scores, each = changed(kind, 9, change), lengths(9)
    found = products(kind, scores, each, KINDS[kind].draw(9, 2))
    for score, grad in zip(scores, found, strict=False):
        assert (grad[score == -torch.inf] == 0).all()
    beyond = KINDS[kind].beyond(9, each)
    of_parts = [grad for grad in found if grad.shape[: beyond.dim()] == beyond.shape]
    assert of_parts
    assert all((grad[beyond] == 0).all() for grad in of_parts)
    hopeless = KINDS[kind].make(*scores, each).log_partition == -torch.inf
    assert (found[-1][hopeless] == 0).all()
    assert all((grad[hopeless] == 0).all() for grad in found if len(grad) == len(hopeless))


@pytest.mark.parametrize(("change", "ring"), [(unchanged, PLAIN), (steep, EXTENDED)])
def test_both_rings_are_compared(change, ring):
    (spans,) = changed("spans", 9, change)
    _, chart = TABLE.inside(spans, lengths(9), False)
    assert chart[0, 0] == ring


@pytest.mark.parametrize(("kind", "module"), [("chains", chain_cpu), ("trees", matrix_tree_cpu)])
def test_a_backend_without_the_kernel_leaves_it_to_the_reference(on, monkeypatch, kind, module):
    on("cpu")
    scores, directions, calls = changed(kind, 5, unchanged), KINDS[kind].draw(5, 2), []
    kernel = module.derivative
    monkeypatch.setattr(module, "derivative", lambda *arguments: calls.append(1) or kernel(*arguments))
    compiled = products(kind, scores, lengths(5), directions)
    assert calls
    monkeypatch.delattr(module, "derivative")
    for expected, actual in zip(products(kind, scores, lengths(5), directions), compiled, strict=True):
        assert torch.allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_third_derivatives(on, kind):
    def answers():
        leaves = tuple(score.requires_grad_() for score in KINDS[kind].draw(4, 0))
        value = KINDS[kind].make(*leaves, lengths(4)).log_partition.sum()
        for seed in (2, 4, 6):
            grads = torch.autograd.grad(value, leaves, create_graph=True)
            directions = KINDS[kind].draw(4, seed)
            value = sum((grad * direction).sum() for grad, direction in zip(grads, directions, strict=True))
        return torch.autograd.grad(value, leaves)

    assert_kernels_answer_as_the_reference(on, answers, 1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_derivatives(on, four_threads, kind):
    on("cpu")
    scores, directions = KINDS[kind].draw(40, 0), KINDS[kind].draw(40, 2)
    parallel = products(kind, scores, lengths(40), directions)
    torch.set_num_threads(1)
    for one, other in zip(products(kind, scores, lengths(40), directions), parallel, strict=True):
        assert torch.equal(one, other)
