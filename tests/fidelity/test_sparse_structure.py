"""Learning with sparse latent structure (Niculae, Martins, Blondel, Cardie): its program and its equations."""

import numpy as np
import pytest
import torch
from tests.fidelity.dense_sparsemap import arcs_of, every_tree, sparsemap

from strukt import FactorGraph
from strukt.factor_graph.factors import Budget, Tree

PROGRAM = """
fg = FactorGraph()
var = [fg.variable() for i in range(n)] # handwave

fg.add(Tree(var))

for i in range(n):
    fg.add(Budget(var[i, :], budget=5))

mu = fg.lp_sparsemap(eta)
"""
"""The slide "Differentiable Sparse Structured Prediction", letter by letter."""

HANDWAVE = "[fg.variable() for i in range(n)] # handwave"
ARRAY = "np.array([[fg.variable() for head in range(n + 1)] for word in range(n)])"
"""Stands for the line that the program leaves out."""


def run(program, n, eta):
    names = {"FactorGraph": FactorGraph, "Tree": Tree, "Budget": Budget, "np": np, "n": n, "eta": eta}
    exec(program, names)
    return names["mu"]


def scores(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("n", [2, 4])
def test_the_printed_program_runs(n):
    assert HANDWAVE in PROGRAM
    eta = scores(3, n * (n + 1))
    found = run(PROGRAM.replace(HANDWAVE, ARRAY), n, eta)
    trees = np.stack([arcs_of(heads).ravel() for heads in every_tree(n)])
    for mine, each in zip(found.marginals, eta, strict=True):  # no word has more than five heads
        np.testing.assert_allclose(mine.numpy(), sparsemap(trees, each.numpy()) @ trees, atol=1e-6)


def test_the_printed_program_where_rows_are_heads_and_the_budget_binds():
    n, budget = 4, 1
    program = PROGRAM.replace(HANDWAVE, ARRAY.replace("])", "]).T").replace("]).T for", "] for"))
    program = program.replace("Tree(var)", "Tree(var.T)").replace("range(n):", "range(n + 1):")
    eta = scores(3, n * (n + 1), seed=1)
    found = run(program.replace("budget=5", f"budget={budget}"), n, eta)
    trees = np.stack([arcs_of(heads).ravel() for heads in every_tree(n)])
    heads = np.stack([np.eye(n + 1)[np.tile(np.arange(n + 1), n)][:, head] for head in range(n + 1)])
    free = 0
    for mine, each in zip(found.marginals, eta, strict=True):
        wanted = sparsemap(trees, each.numpy(), heads, budget) @ trees
        free += not np.allclose(wanted, sparsemap(trees, each.numpy()) @ trees, atol=1e-3)
        np.testing.assert_allclose(mine.numpy(), wanted, atol=1e-6)
    assert free  # the budgets changed something


def test_lists_and_arrays_of_single_variables():
    graph = FactorGraph()
    first, second = graph.variable(), graph.variable()
    assert (first.shape, second.index.tolist()) == ((), 1)
    later = graph.variables(2)
    last = [graph.variable(), graph.variable(), graph.variable()]
    assert graph.arrays.shapes == ((2,), (2,), (3,))
    assert [one.index.tolist() for one in last] == [4, 5, 6]
    graph.add(Budget([first, ~second, later], 1))
    graph.add(Budget(np.array(last), 1, exactly=True))
    found = graph.enumerate((torch.tensor([0.5, 0.4]), torch.zeros(2), torch.tensor([0.0, 2.0, 1.0])))
    assert [mode.tolist() for mode in found.mode] == [[1, 1], [0, 0], [0, 1, 0]]
    assert len(found.assignments) == 5 * 3
