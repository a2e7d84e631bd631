"""Factor graphs where other solvers are wrong: scaled oracles, lost gradients, silence without convergence."""


import numpy as np
import pytest
import torch
from tests.quadratic_program import lp_sparsemap_marginals
from torch import Tensor
from torch.autograd import grad

from strukt import FactorGraph, LinearChain, NonProjectiveTree
from strukt.factor_graph import factors


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def tree_with_budget(n: int, most: int) -> FactorGraph:
    """A tree in which no word has more than so many dependents."""
    graph = FactorGraph()
    arcs = graph.variables(n, n + 1)
    graph.add(factors.Tree(arcs))
    for head in range(1, n + 1):
        graph.add(factors.Budget(arcs[:, head], most))
    return graph


def sequence_with_columns(n: int, c: int, transition: Tensor) -> FactorGraph:
    """A sequence in which every tag occurs at most once."""
    graph = FactorGraph()
    tags = graph.variables(n, c)
    graph.add(factors.Chain(tags, transition))
    for tag in range(c):
        graph.add(factors.AtMostOne(tags[:, tag]))
    return graph


def overlapping_xors() -> FactorGraph:
    """Each of four variables in two constraints that exactly one is on."""
    graph = FactorGraph()
    x = graph.variables(5)
    for places in ([0, 1, 2], [1, 2, 3], [2, 3, 4]):
        graph.add(factors.Xor(x[places]))
    return graph


def table(assignments: Tensor, own: Tensor) -> tuple[np.ndarray, np.ndarray]:
    return assignments.flatten(1).double().numpy(), own.detach().double().numpy()


def trees(n: int) -> tuple[np.ndarray, np.ndarray]:
    structure = NonProjectiveTree(torch.zeros(n, n + 1, dtype=torch.float64))
    events = structure.enumerate_support()
    return table(structure.to_parts(events), torch.zeros(len(events)))


def sequences(n: int, transition: Tensor) -> tuple[np.ndarray, np.ndarray]:
    structure = LinearChain(torch.zeros(n, len(transition), dtype=torch.float64), transition)
    events = structure.enumerate_support()
    return table(structure.to_parts(events), structure.score(events))


@pytest.mark.parametrize(
    ("n", "seed"),
    [*((3, seed) for seed in range(3)), *(pytest.param(4, seed, marks=pytest.mark.slow) for seed in range(3))],
)
def test_a_tree_with_a_budget(n, seed):
    """Scores divided by the wrong power of a degree: 0.1 to 0.25 off at every tolerance."""
    graph, scores = tree_with_budget(n, 1), normal(n, n + 1, seed=seed)
    found = graph.lp_sparsemap(scores)
    expected, _ = lp_sparsemap_marginals(graph.layout, scores.flatten().numpy(), tables=[trees(n)])
    assert found.status
    assert np.abs(found.marginals.flatten().numpy() - expected).max() < 1e-8
    single = graph.lp_sparsemap(scores.float()).marginals
    assert single.dtype == torch.float32
    assert np.abs(single.flatten().numpy() - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("n", "c", "seed"),
    [(3, 4, 0), (3, 4, 1), *(pytest.param(4, 5, seed, marks=pytest.mark.slow) for seed in range(3))],
)
def test_a_sequence_with_columns(n, c, seed):
    """The same defect where a sequence shares variables with other factors."""
    transition = normal(c, c, seed=90)
    graph, scores = sequence_with_columns(n, c, transition), normal(n, c, seed=seed)
    found = graph.lp_sparsemap(scores)
    tables = [sequences(n, transition)]
    expected, _ = lp_sparsemap_marginals(graph.layout, scores.flatten().numpy(), tables=tables)
    assert np.abs(found.marginals.flatten().numpy() - expected).max() < 1e-8


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-4, 1e-6])
def test_gradients_are_as_exact_at_any_size(size):
    """A fixed point that stops at an absolute error: 72% off at cotangents of 1e-5."""
    graph, scores = tree_with_budget(4, 1), normal(4, 5, seed=7).requires_grad_()
    cotangent = normal(4, 5, seed=8)
    marginals = graph.lp_sparsemap(scores).marginals
    (unit,) = grad(marginals, scores, cotangent, retain_graph=True)
    (scaled,) = grad(marginals, scores, size * cotangent)
    assert torch.allclose(scaled / size, unit, rtol=1e-9, atol=1e-12)


def test_a_repelling_pair_has_a_gradient_in_its_score():
    """1e12 for 1e-12 in a backward pass: the gradient in a negative score of a pair was always 0."""
    scores = torch.tensor([0.9, 0.95], dtype=torch.float64)
    edge = torch.tensor([-0.3], dtype=torch.float64, requires_grad=True)
    graph = FactorGraph()
    x = graph.variables(2)
    graph.add(factors.Pairwise(x[:1], x[1:], edge))
    marginals = graph.lp_sparsemap(scores).marginals
    assert marginals.sum() > 1.0
    (slope,) = grad(marginals[0], edge)
    assert torch.allclose(slope, torch.ones(1, dtype=torch.float64))


def test_strided_scores():
    """Scores that are no contiguous block were refused."""
    graph = overlapping_xors()
    scores = normal(5, 2, seed=1)
    strided = graph.lp_sparsemap(scores.T[0]).marginals
    assert torch.equal(strided, graph.lp_sparsemap(scores[:, 0].contiguous()).marginals)


@pytest.mark.parametrize("method", ["lp_map", "lp_sparsemap"])
@pytest.mark.parametrize("mask", [torch.finfo(torch.float32).min, -1e16, -1e12, -1e9, -1e5, -torch.inf])
def test_masks_forbid(method, mask):
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(3)))
    found = getattr(graph, method)(torch.tensor([mask, 0.0, 1.0]))
    assert torch.allclose(found.marginals, torch.tensor([0.0, 0.0, 1.0]))
    other = FactorGraph()
    x = other.variables(2)
    other.add(factors.Pairwise(x[0], x[1], torch.tensor(mask)))
    both = getattr(other, method)(torch.tensor([2.0, 3.0])).marginals
    assert both.sum() <= 1.0 + 1e-6


@pytest.mark.parametrize("method", ["lp_map", "lp_sparsemap"])
@pytest.mark.parametrize("penalty", [1e5, 1e7, 1e9, 1e12, 1e14])
def test_any_penalty_that_can_be_kept_clear_of_forbids(method, penalty):
    """Assignments of two rows to four columns with some cells masked: as with -inf, and always converged."""
    graph = FactorGraph()
    x = graph.variables(2, 4)
    for row in x:
        graph.add(factors.Xor(row))
    for column in x.T:
        graph.add(factors.AtMostOne(column))
    scores, masked = normal(20, 2, 4, seed=3), torch.zeros(20, 2, 4, dtype=torch.bool)
    masked[:, 0, 0] = masked[:10, 1, 1] = masked[5:15, 1, 2] = True
    right = getattr(graph, method)(scores.masked_fill(masked, -torch.inf))
    found = getattr(graph, method)(scores.masked_fill(masked, -penalty))
    assert right.status.all()
    assert found.status.all()
    torch.testing.assert_close(found.marginals, right.marginals, atol=1e-7, rtol=0.0)
    torch.testing.assert_close(found.bound, right.bound, atol=1e-6, rtol=1e-6)
    scores[:, 0, 0] = penalty
    rewarded = getattr(graph, method)(scores)
    assert rewarded.status.all()
    assert (rewarded.marginals[:, 0, 0] == 1.0).all()


@pytest.mark.parametrize("method", ["lp_map", "lp_sparsemap"])
def test_the_least_of_the_penalties_that_must_be_paid_is_paid(method):
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(3)))
    found = getattr(graph, method)(torch.tensor([-2e9, -1e9, -1e12], dtype=torch.float64))
    assert found.status.all()
    assert found.marginals.tolist() == [0.0, 1.0, 0.0]
    assert float(found.bound) == pytest.approx(-1e9)
