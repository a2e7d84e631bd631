"""Factor graphs where other solvers are wrong: scaled oracles, lost gradients, silence without convergence."""

import itertools
import math
import warnings

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


def pairs_of_four(scores: Tensor) -> FactorGraph:
    """Four variables of which all but one pair attract or repel each other."""
    graph = FactorGraph()
    x = graph.variables(4)
    first, second = zip(*list(itertools.combinations(range(4), 2))[:5], strict=True)
    graph.add(factors.Pairwise(x[list(first)], x[list(second)], scores))
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


def differences(graph_of, leaves: list[Tensor], cotangent: Tensor, step: float = 1e-5) -> list[Tensor]:
    """Central differences of <marginals, cotangent> in each number of the leaves."""
    found = []
    for place, leaf in enumerate(leaves):
        slope = torch.zeros_like(leaf)
        for index in np.ndindex(*leaf.shape):
            values = []
            for sign in (1, -1):
                moved = [other.clone() for other in leaves]
                moved[place][index] += sign * step
                values.append((graph_of(*moved) * cotangent).sum())
            slope[index] = (values[0] - values[1]) / (2 * step)
        found.append(slope)
    return found


MAKERS = {
    "tree with budget": (lambda s: tree_with_budget(3, 1).lp_sparsemap(s).marginals, [(3, 4)]),
    "sequence with columns": (
        lambda s, t: sequence_with_columns(3, 4, t).lp_sparsemap(s).marginals, [(3, 4), (4, 4)],
    ),
    "pairs": (lambda s, p: pairs_of_four(p).lp_sparsemap(s).marginals, [(4,), (5,)]),
    "overlapping xors": (lambda s: overlapping_xors().lp_sparsemap(s).marginals, [(5,)]),
}  # fmt: skip


@pytest.mark.thinned("kind", "seed")
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow if kind == "sequence with columns" else ()) for kind in MAKERS],
)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_against_differences(kind, seed):
    """Gradients of 0 or 1 wrong by 0.5 to 2: supports read off approximate iterates, lost scores of pairs."""
    compute, shapes = MAKERS[kind]
    leaves = [0.7 * normal(*shape, seed=10 * seed + i) for i, shape in enumerate(shapes)]
    with_gradient = [leaf.clone().requires_grad_() for leaf in leaves]
    marginals = compute(*with_gradient)
    cotangent = normal(*marginals.shape, seed=99)
    expected = differences(compute, leaves, cotangent)
    for one, other in zip(grad(marginals, with_gradient, cotangent), expected, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


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


def test_a_variable_in_no_factor_moves_with_its_score():
    """Its gradient was 0; that of a clipped score is 1 inside."""
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Xor(x[:2]))
    scores = torch.tensor([0.1, 0.2, 0.4], requires_grad=True)
    marginals = graph.lp_sparsemap(scores).marginals
    assert torch.isclose(marginals[2], torch.tensor(0.4))
    assert torch.equal(grad(marginals[2], scores)[0], torch.tensor([0.0, 0.0, 1.0]))


def test_what_cannot_be_satisfied_is_said():
    """[1/6, 1/6, 1/6] without a word, for at least one and at most none."""
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Or(x))
    graph.add(factors.Budget(x, 0))
    with pytest.warns(UserWarning, match="gap"):
        found = graph.lp_sparsemap(torch.zeros(3))
    assert not found.status


def test_forbidden_and_undefined_scores():
    """[1, 1, NaN] for a score of -inf, 1.73 for NaN."""
    graph = FactorGraph()
    x = graph.variables(3)
    graph.add(factors.Xor(x))
    marginals = graph.lp_sparsemap(torch.tensor([0.2, -math.inf, 0.1])).marginals
    assert torch.allclose(marginals, torch.tensor([0.55, 0.0, 0.45]))
    with pytest.raises(ValueError, match="nan"):
        graph.lp_sparsemap(torch.tensor([0.2, math.nan, 0.1]))


def test_too_few_rounds_are_told_by_the_status():
    """It was thrown away."""
    graph = tree_with_budget(4, 1)
    found = graph.lp_sparsemap(normal(4, 5, seed=3), max_iterations=2)
    assert not found.status
    assert found.gap > 0


@pytest.mark.parametrize("seed", range(3))
def test_one_factor_is_sparsemap(seed):
    scores, transition = normal(6, 3, seed=seed), normal(3, 3, seed=50 + seed)
    graph = FactorGraph()
    graph.add(factors.Chain(graph.variables(6, 3), transition))
    expected = LinearChain(scores, transition).sparsemap().marginals
    assert torch.allclose(graph.lp_sparsemap(scores).marginals, expected, atol=1e-9, rtol=0)
    graph = FactorGraph()
    graph.add(factors.Tree(graph.variables(4, 5)))
    arcs = normal(4, 5, seed=seed)
    expected = NonProjectiveTree(arcs).sparsemap().marginals
    assert torch.allclose(graph.lp_sparsemap(arcs).marginals, expected, atol=1e-9, rtol=0)


def test_strided_scores_and_wrong_shapes():
    """Scores that are no contiguous block were refused; tables of the wrong shape corrupted memory."""
    graph = overlapping_xors()
    scores = normal(5, 2, seed=1)
    strided = graph.lp_sparsemap(scores.T[0]).marginals
    assert torch.equal(strided, graph.lp_sparsemap(scores[:, 0].contiguous()).marginals)
    with pytest.raises(ValueError, match="transition"):
        factors.Chain(FactorGraph().variables(4, 3), torch.zeros(2, 2))
    with pytest.raises(ValueError, match="scores has shape"):
        graph.lp_sparsemap(torch.zeros(4))


def test_a_tight_relaxation_is_exact():
    """Where the relaxation of MAP is whole it is the best assignment."""
    graph, scores = overlapping_xors(), normal(5, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = graph.lp_map(scores).marginals
    assert torch.allclose(found, graph.enumerate(scores).mode.double(), atol=1e-6)


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
