"""Spanning trees: Kirchhoff's theorem, Cayley's counts, required edges, ranking of many vertices, sizes."""

import itertools
import math

import pytest
import torch
from scipy.sparse.csgraph import minimum_spanning_tree
from tests.scores import normal
from torch.distributions import kl_divergence

from strukt import InfeasibleError, SpanningTree

BACKENDS = pytest.mark.parametrize("backend", ["reference", "cpu"])


def graph(n: int, pairs) -> torch.Tensor:
    """Score 0 for these edges, -inf for all others."""
    edges = torch.full((n, n), -math.inf, dtype=torch.float64)
    for i, j in pairs:
        edges[min(i, j), max(i, j)] = 0.0
    return edges


def laplacian(edges: torch.Tensor) -> torch.Tensor:
    weights = edges.exp().triu(1)
    weights = weights + weights.mT
    return torch.diag(weights.sum(0)) - weights


def mask(n: int, *pairs: tuple[int, int]) -> torch.Tensor:
    found = torch.zeros(n, n, dtype=torch.bool)
    for pair in pairs:
        found[pair] = True
    return found


@BACKENDS
@pytest.mark.parametrize("n", [1, 2, 3, 4, 10, 60])
def test_numbers_of_trees_are_cayleys(n, backend, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    found = SpanningTree(torch.zeros(n, n, dtype=torch.float64)).log_count.item()
    assert found == pytest.approx((n - 2) * math.log(n), abs=1e-9)


@BACKENDS
def test_kirchhoffs_theorem(backend, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    edges = normal(9, 9)
    expected = torch.linalg.slogdet(laplacian(edges)[1:, 1:]).logabsdet
    assert torch.allclose(SpanningTree(edges).log_partition, expected)


@BACKENDS
def test_only_the_upper_triangle_is_read(backend, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    edges = normal(5, 5)
    other = (edges.triu(1) + 1000 * torch.ones(5, 5).tril()).requires_grad_()
    assert torch.equal(SpanningTree(other).log_partition, SpanningTree(edges).log_partition)
    assert torch.equal(SpanningTree(other).mode, SpanningTree(edges).mode)
    (gradient,) = torch.autograd.grad(SpanningTree(other).log_partition, other)
    assert (gradient.tril() == 0).all()


@pytest.mark.parametrize("n", [2, 3, 31, 65])
def test_the_mode_is_a_maximum_spanning_tree(n):
    edges = normal(n, n)
    shifted = torch.where(torch.ones(n, n).triu(1) > 0, edges.max() + 1 - edges, 0)
    cost = minimum_spanning_tree(shifted.numpy()).sum()
    trees = SpanningTree(edges)
    assert trees.max_score.item() == pytest.approx((n - 1) * (edges.max().item() + 1) - cost)
    assert trees.is_structure(trees.mode)


def test_many_vertices_are_ranked():
    trees = SpanningTree(normal(40, 40))
    scores, events = trees.topk(25)
    assert torch.equal(events[0], trees.mode)
    assert (scores.diff() <= 0).all()
    assert trees.is_structure(events).all()
    assert len(torch.unique(events.flatten(1), dim=0)) == 25
    used = trees.mode == 1
    second = max(
        trees.condition(forbidden=mask(40, pair)).max_score for pair in map(tuple, used.nonzero().tolist())
    )
    assert torch.allclose(scores[1], second)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("required", [[], [(0, 3), (2, 3)]])
def test_max_marginals_are_maxima_of_conditioned_trees(share, required):
    n = 7
    edges = normal(n, n)
    lost = torch.rand(n, n, generator=torch.Generator().manual_seed(1)) < share
    kept = mask(n, *required) | torch.eye(n).roll(1, 1).bool()
    scores = edges.masked_fill(lost & ~kept, -math.inf).requires_grad_()
    trees = SpanningTree(scores).condition(required=mask(n, *required))
    found = trees.max_marginals
    for pair in itertools.combinations(range(n), 2):
        expected = trees.condition(required=mask(n, pair)).max_score
        assert torch.allclose(found[pair], expected)
        if expected > -math.inf:
            gradients = [torch.autograd.grad(it, scores, retain_graph=True)[0] for it in (found[pair], expected)]
            assert torch.allclose(*gradients)


def test_required_edges_contract():
    """Trees of a complete graph with a given forest (Moon 1967): n^(c - 2) times the sizes of its c parts."""
    given = SpanningTree(torch.zeros(7, 7)).condition(required=mask(7, (0, 1), (1, 2), (4, 6)))
    assert given.log_count.exp().item() == pytest.approx(7 ** (4 - 2) * 3 * 2)
    assert given.marginals[0, 1] == 1
    assert given.marginals[0, 2] == 0
    assert torch.allclose(given.marginals.sum(), torch.tensor(6.0))


@BACKENDS
def test_a_condition_is_bayes_rule(backend, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    trees = SpanningTree(normal(6, 6))
    conditioned = trees.condition(mask(6, (1, 2)), mask(6, (0, 4)))
    known = mask(6, (1, 2), (0, 4))
    observed = trees.partial_log_prob(mask(6, (1, 2)).long(), known)
    assert torch.allclose(trees.log_partition + observed, conditioned.log_partition)
    assert torch.allclose(kl_divergence(conditioned, trees), -observed)
    assert kl_divergence(trees, conditioned) == math.inf
    draws = conditioned.sample((50,))
    assert (draws[:, 1, 2] == 1).all()
    assert (draws[:, 0, 4] == 0).all()
    assert conditioned.mode[1, 2] == 1
    assert torch.allclose(conditioned.max_score, conditioned.max_marginals[1, 2])


def test_samples_with_required_edges_have_the_right_means():
    given = SpanningTree(normal(5, 5)).condition(required=mask(5, (0, 1), (2, 4)))
    torch.manual_seed(0)
    means = given.to_parts(given.sample((3000,))).mean(0)
    assert torch.allclose(means, given.marginals, atol=0.04)


def test_to_require_a_bridge_is_to_require_nothing():
    """The only edge between two triangles."""
    edges = graph(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])
    trees = SpanningTree(edges + 0.1 * normal(6, 6))
    given = trees.condition(required=mask(6, (2, 3)))
    assert torch.allclose(given.log_partition, trees.log_partition)
    assert kl_divergence(trees, given).abs() < 1e-12
    assert kl_divergence(trees, trees.condition(required=mask(6, (3, 4)))) == math.inf


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 2), (0, 2)], [(0, 3)]])
def test_a_required_cycle_or_a_forbidden_edge_leaves_no_tree(pairs):
    edges = torch.zeros(4, 4)
    edges[0, 3] = -math.inf
    given = SpanningTree(edges).condition(required=mask(4, *pairs))
    assert given.log_partition == given.max_score == -math.inf
    assert given.entropy() == 0
    assert (given.marginals == 0).all()
    assert (given.topk(2)[1] == -1).all()
    with pytest.raises(InfeasibleError):
        given.sample()


def test_requirements_beyond_the_length_are_ignored():
    trees = SpanningTree(torch.zeros(2, 4, 4), torch.tensor([4, 3]))
    given = trees.condition(required=mask(4, (2, 3), (3, 0)).expand(2, 4, 4))
    assert torch.allclose(given.log_count.exp(), torch.tensor([8.0, 3.0]))


@pytest.mark.parametrize("scale", [1.0, 50.0, 1e4])
def test_single_precision_at_any_scale(scale):
    edges = scale * normal(20, 20)
    single, double = SpanningTree(edges.float()), SpanningTree(edges.float().double())
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=1e-6)
    assert torch.allclose(single.marginals.double(), double.marginals, atol=1e-4)
    assert torch.allclose(single.entropy().double(), double.entropy(), atol=1e-4)


def test_edges_that_are_no_square_are_refused():
    with pytest.raises(ValueError, match=r"edges has shape \(2, 3, 4\); expected batch \+ \(n, n\)"):
        SpanningTree(torch.zeros(2, 3, 4))
