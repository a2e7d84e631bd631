"""The mappings and losses of sparse latent structure (Niculae and co-authors), in loops."""

import operator

import numpy as np
import pytest
import torch
from tests.fidelity.dense_sparsemap import arcs_of, every_tree, sparsemap

from strukt import FactorGraph
from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.factor_graph import factors
from strukt.tasks.common import ranges


def scores(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


TREES = every_tree(3)
COLUMNS = np.stack([arcs_of(heads).ravel() for heads in TREES])


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
