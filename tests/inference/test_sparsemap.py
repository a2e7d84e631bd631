"""SparseMAP against closed forms and against the projection onto the enumerated structures."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import nnls

from strukt import LinearChain, NonProjectiveTree, ProjectiveTree


def sparsemax(x: torch.Tensor) -> torch.Tensor:
    """The projection onto the simplex (Martins and Astudillo 2016, algorithm 1)."""
    ordered = x.sort(descending=True).values
    count = torch.arange(1, len(x) + 1)
    support = int((1 + count * ordered > ordered.cumsum(0)).sum())
    return (x - (ordered[:support].sum() - 1) / support).clamp(min=0)


def projection(vertices: np.ndarray, point: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """argmin of 1/2 |v w - point|^2 - linear w over the simplex, as a large-penalty least-squares problem."""
    gram = vertices @ vertices.T + 1e-9 * np.eye(len(vertices))
    root = np.linalg.cholesky(gram).T
    target = np.linalg.solve(root.T, vertices @ point + linear)
    penalty = 1e5
    weights, _ = nnls(np.vstack([root, penalty * np.ones(len(vertices))]), np.append(target, penalty))
    return weights @ vertices


def test_a_chain_of_one_position_is_sparsemax():
    scores = torch.randn(1, 6, dtype=torch.float64)
    found = LinearChain(scores, torch.zeros(6, 6, dtype=torch.float64)).sparsemap()
    torch.testing.assert_close(found.marginals[0], sparsemax(scores[0]))


@pytest.mark.parametrize("kind", [NonProjectiveTree, ProjectiveTree])
@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 30.0])
def test_trees_against_the_projection(kind, scale):
    torch.manual_seed(0)
    trees = kind(scale * torch.randn(3, 4, dtype=torch.float64))
    vertices = trees.to_parts(trees.enumerate_support()).flatten(1).numpy()
    expected = projection(vertices, trees.scores[0].flatten().numpy(), np.zeros(len(vertices)))
    found = trees.sparsemap()
    np.testing.assert_allclose(found.marginals.flatten().numpy(), expected, atol=1e-5)


def test_transitions_enter_linearly():
    torch.manual_seed(1)
    chain = LinearChain(torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64))
    events = chain.enumerate_support()
    vertices = chain.to_parts(events).flatten(1).numpy()
    unary = chain.scores[0].flatten().numpy()
    pairs = chain.score(events).numpy() - vertices @ unary
    expected = projection(vertices, unary, pairs)
    np.testing.assert_allclose(chain.sparsemap().marginals.flatten().numpy(), expected, atol=1e-5)


def test_solutions_are_sparse_convex_combinations_of_structures():
    torch.manual_seed(2)
    trees = NonProjectiveTree(torch.randn(4, 6, 7, dtype=torch.float64), torch.tensor([6, 3, 1, 0]))
    found = trees.sparsemap()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(4, dtype=torch.float64))
    assert (found.weights >= -1e-12).all()
    for item, (weights, events) in enumerate(zip(found.weights, found.events, strict=True)):
        alone = NonProjectiveTree(trees.scores[0][item], trees.lengths[item])
        used = weights > 0
        assert alone.is_structure(events[used]).all()
        mixed = (weights[used, None, None] * alone.to_parts(events[used])).sum(0)
        torch.testing.assert_close(mixed, found.marginals[item])


def test_gradient_in_all_scores():
    torch.manual_seed(3)
    unary = torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True)
    transition = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def marginals(unary: torch.Tensor, transition: torch.Tensor) -> torch.Tensor:
        return LinearChain(unary, transition).sparsemap().marginals

    assert torch.autograd.gradcheck(marginals, (unary, transition), eps=1e-7, atol=1e-5)
    assert torch.autograd.gradgradcheck(marginals, (unary, transition), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("scores", [torch.zeros(4, 5), 1e6 * torch.ones(4, 5), 1e4 * torch.randn(4, 5)])
def test_ties_and_huge_scores_end(scores):
    found = ProjectiveTree(scores.double()).sparsemap()
    torch.testing.assert_close(found.marginals.sum(-1), torch.ones(4, dtype=torch.float64))


def test_forbidden_parts_stay_out():
    arcs = torch.randn(3, 4, dtype=torch.float64)
    arcs[0, 0] = -torch.inf
    found = NonProjectiveTree(arcs).sparsemap()
    assert found.marginals[0, 0] == 0
    assert found.marginals.isfinite().all()


def test_too_few_steps_are_said():
    trees = NonProjectiveTree(0.1 * torch.randn(5, 6, dtype=torch.float64))
    with pytest.warns(UserWarning, match="stopped after 2 steps with a duality gap of"):
        trees.sparsemap(max_iterations=2)


def test_items_do_not_touch_each_other():
    torch.manual_seed(4)
    arcs = torch.randn(3, 4, 5, dtype=torch.float64)
    together = ProjectiveTree(arcs).sparsemap().marginals
    for item, marginals in itertools.zip_longest(arcs, together):
        torch.testing.assert_close(ProjectiveTree(item).sparsemap().marginals, marginals)
