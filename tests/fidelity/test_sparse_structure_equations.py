"""The mappings and losses of sparse latent structure (Niculae and co-authors), in loops."""

import itertools
import operator

import numpy as np
import pytest
import torch
from tests.fidelity.dense_sparsemap import arcs_of, every_tree, sparsemap

from strukt import FactorGraph, NonProjectiveTree, mappings
from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.factor_graph import factors
from strukt.losses import fenchel_young_loss
from strukt.tasks.common import ranges

STEP = 1e-6


def scores(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense_sparsemax(theta):
    """p = [theta - tau]_+, of which the support S = {1 .. k} in descending order is tried out."""
    for k in range(1, len(theta) + 1):
        largest = sorted(theta, reverse=True)[:k]
        tau = (sum(largest) - 1) / k
        p = np.maximum(theta - tau, 0)
        if np.count_nonzero(p) == k and np.isclose(p.sum(), 1):
            return p
    raise AssertionError("there is always a support")


def dense_total_variation(theta, weight):
    """argmin of 1/2 |p - theta|^2 + weight sum |p_j - p_j-1|, by projected steps of its dual."""
    dual = np.zeros(len(theta) - 1)
    for _ in range(1_000):
        p = theta + np.append(dual, 0) - np.append(0, dual)
        dual = np.clip(dual + 0.25 * np.diff(p), -weight, weight)
    return theta + np.append(dual, 0) - np.append(0, dual)


def test_sparsemax_and_its_jacobian():
    for theta in 2 * scores(10, 6):
        p = dense_sparsemax(theta.numpy())
        np.testing.assert_allclose(mappings.sparsemax(theta).numpy(), p, atol=1e-12)
        s = (p > 0).astype(float)
        jacobian = torch.autograd.functional.jacobian(mappings.sparsemax, theta)
        np.testing.assert_allclose(jacobian.numpy(), np.diag(s) - np.outer(s, s) / s.sum(), atol=1e-12)


@pytest.mark.parametrize("alpha", [1.3, 1.5, 1.9])
def test_entmax_maximises_its_objective(alpha):
    """The maximum of p'theta - sum p^alpha / (alpha (alpha - 1)).

    It is at p_j = [(alpha - 1) theta_j - tau]_+^(1 / (alpha - 1)).
    """
    for theta in scores(6, 5, seed=1):
        low, high = (alpha - 1) * theta.max().item() - 1, (alpha - 1) * theta.max().item()
        for _ in range(200):
            tau = (low + high) / 2
            p = np.maximum((alpha - 1) * theta.numpy() - tau, 0) ** (1 / (alpha - 1))
            low, high = (tau, high) if p.sum() > 1 else (low, tau)
        np.testing.assert_allclose(mappings.entmax(theta, alpha).numpy(), p, atol=1e-9)


@pytest.mark.parametrize("weight", [0.2, 1.0])
def test_fusedmax_is_sparsemax_of_the_fused_lasso(weight):
    for theta in scores(4, 6, seed=2):
        wanted = dense_sparsemax(dense_total_variation(theta.numpy(), weight))
        np.testing.assert_allclose(mappings.fusedmax(theta, weight).numpy(), wanted, atol=1e-6)


TREES = every_tree(3)
COLUMNS = np.stack([arcs_of(heads).ravel() for heads in TREES])


def test_sparsemap_of_trees_and_its_derivative():
    for seed in range(8):
        eta, direction = scores(3, 4, seed=seed), scores(3, 4, seed=50 + seed)
        moved = [eta + sign * STEP * direction for sign in (1, -1)]
        up, down = (sparsemap(COLUMNS, value.numpy().ravel()) @ COLUMNS for value in moved)
        eta.requires_grad_()
        found = NonProjectiveTree(eta).sparsemap(tol=1e-12)
        wanted = sparsemap(COLUMNS, eta.detach().numpy().ravel()) @ COLUMNS
        np.testing.assert_allclose(found.marginals.detach().numpy().ravel(), wanted, atol=1e-9)
        (gradient,) = torch.autograd.grad((found.marginals * direction).sum(), eta)
        slope = (up - down) @ direction.numpy().ravel() / (2 * STEP)
        assert (gradient * direction).sum().item() == pytest.approx(slope, abs=1e-6)


def test_lp_sparsemap_of_trees_and_budgets_and_its_derivative():
    graph = FactorGraph()
    arcs = graph.variables(3, 4)
    graph.add(factors.Tree(arcs))
    for of_head in arcs.T:
        graph.add(factors.Budget(of_head, budget=1))
    bounded = np.stack([np.tile(np.eye(4)[head], 3) for head in range(4)])
    for seed in range(8):
        eta, direction = scores(3, 4, seed=seed), scores(3, 4, seed=70 + seed)
        moved = [eta + sign * 1e-4 * direction for sign in (1, -1)]
        up, down = (sparsemap(COLUMNS, v.numpy().ravel(), bounded, 1) @ COLUMNS for v in moved)
        eta.requires_grad_()
        found = graph.lp_sparsemap(eta, tol=1e-12).marginals
        wanted = sparsemap(COLUMNS, eta.detach().numpy().ravel(), bounded, 1) @ COLUMNS
        np.testing.assert_allclose(found.detach().numpy().ravel(), wanted, atol=1e-6)
        (gradient,) = torch.autograd.grad((found * direction).sum(), eta)
        slope = (up - down) @ direction.numpy().ravel() / 2e-4
        assert (gradient * direction).sum().item() == pytest.approx(slope, abs=1e-3)


@pytest.mark.parametrize("cost", [None, "hamming"])
def test_the_losses_of_sparsemap(cost):
    """L(eta, m) = max over mu of { eta'mu - 1/2 |mu|^2 + rho(mu, m) } - eta'm + 1/2 |m|^2, rho the wrong heads."""
    for (number, heads), seed in itertools.product(enumerate(TREES), range(2)):
        eta = scores(3, 4, seed=10 * number + seed)
        given, flat = arcs_of(heads).ravel(), eta.numpy().ravel()
        rho = 1 - given if cost else 0 * given
        mu = sparsemap(COLUMNS, flat + rho) @ COLUMNS
        wanted = (flat + rho) @ mu - mu @ mu / 2 - flat @ given + given @ given / 2
        found = fenchel_young_loss(NonProjectiveTree(eta), torch.tensor(heads), "sparsemap", cost)
        assert found.item() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            "sst-latent-tree",
            {"latent.detach": False, "latent.estimator": "sparsemap", "latent.reader": "lstm"},
        ),
        (
            "snli-latent-tree",
            {"latent.detach": False, "latent.estimator": "sparsemap", "latent.reader": "lstm"},
        ),
        ("reverse-dictionary", {"latent.detach": False, "model": "latent-tree"}),
        ("listops-latent-tree", {"structure": "tree", "target": "arity"}),
        ("listops-budget", {"structure": "tree-budget", "budget": 5}),
        ("mnli-matching", {"attention": "matching", "scaled_scores": False}),
        ("mnli-lp-matching", {"attention": "lp-matching", "scaled_scores": False}),
        ("mnli-lp-sequence", {"attention": "lp-sequence", "scaled_scores": False}),
        ("ud-sparsemap", {"criterion": "sparsemap"}),
    ],
)
def test_configurations_have_the_published_models(name, options):
    configuration = configurations()[f"published/{name}"]
    config = parse(configuration.task, ["--config", configuration.name]).config
    ranges.require_valid(config)
    assert {option: operator.attrgetter(option)(config) for option in options} == options
