"""SparseMAP of structures, beside a general interior-point solver and the marginals of the same structure."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from benchmarks.contest import MAPPINGS, Case, Contestant, Family
from benchmarks.polytopes import (
    clarabel_budgets,
    clarabel_grid,
    clarabel_matchings,
    clarabel_sequences,
    clarabel_trees,
    grid_edges,
)

BUDGET = 2
"""The largest number of dependents of a word."""


def strukt_sequences(unary: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import LinearChain

    return LinearChain(unary, transition).sparsemap().marginals


def sequence_marginals(unary: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import LinearChain

    return LinearChain(unary, transition).marginals


def strukt_trees(arcs: Tensor) -> Tensor:
    from strukt.distributions import NonProjectiveTree

    return NonProjectiveTree(arcs, labelled=False).sparsemap().marginals


def tree_marginals(arcs: Tensor) -> Tensor:
    from strukt.distributions import NonProjectiveTree

    return NonProjectiveTree(arcs, labelled=False).marginals


def strukt_matchings(scores: Tensor) -> Tensor:
    from strukt.distributions import Matching

    return Matching(scores).sparsemap().marginals


def strukt_budgets(arcs: Tensor) -> Tensor:
    """Return the LP-SparseMAP of trees in which words have at most `BUDGET` dependents."""
    from strukt import FactorGraph
    from strukt.factor_graph import factors

    graph, n = FactorGraph(), arcs.shape[1]
    heads = graph.variables(n, n + 1)
    graph.add(factors.Tree(heads))
    for head in range(1, n + 1):
        graph.add(factors.Budget(heads[:, head], BUDGET))
    marginals: Tensor = graph.lp_sparsemap(arcs).marginals
    return marginals


def clarabel_trees_with_budgets(arcs: Tensor) -> Tensor:
    return clarabel_budgets(arcs, BUDGET)


def strukt_grid(unary: Tensor, pairs: Tensor) -> Tensor:
    """Return the LP-SparseMAP of grids of binary variables with scores of neighbouring pairs."""
    from strukt import FactorGraph
    from strukt.factor_graph import factors

    graph = FactorGraph()
    variables = graph.variables(*unary.shape[1:])
    first, second = (variables.flatten()[side.numpy()] for side in grid_edges(*unary.shape[1:]))
    graph.add(factors.Pairwise(first, second, pairs))
    marginals: Tensor = graph.lp_sparsemap(unary).marginals
    return marginals


def sequences(batch: int, n: int, c: int) -> Case:
    return Case(f"{batch}x{n}x{c}", ((batch, n, c), (c, c)))


def trees(batch: int, n: int) -> Case:
    return Case(f"{batch}x{n}", ((batch, n, n + 1),))


def matchings(batch: int, n: int) -> Case:
    return Case(f"{batch}x{n}x{n}", ((batch, n, n),))


def grid(batch: int, height: int, width: int) -> Case:
    edges = height * (width - 1) + (height - 1) * width
    return Case(f"{batch}x{height}x{width}", ((batch, height, width), (batch, edges)))


def family(
    name: str,
    title: str,
    case: Callable[..., Case],
    size: tuple[int, ...],
    small: tuple[int, ...],
    strukt: Callable[..., Tensor],
    clarabel: Callable[..., Tensor],
    *others: Contestant,
) -> Family:
    """Return a family for strukt, clarabel and others: one item, and a batch of 16 items of the same size."""
    return Family(
        name=f"sparsemap-{name}",
        title=title,
        cases=(case(1, *size), case(16, *size)),
        warm_up=case(2, *small),
        contestants=(Contestant("strukt", strukt), Contestant("clarabel", clarabel), *others),
        operations=MAPPINGS,
    )


FAMILIES = (
    family(
        "sequence", "SparseMAP of sequences (items x length x tags)",
        sequences, (40, 16), (3, 3), strukt_sequences, clarabel_sequences,
        Contestant("marginals", sequence_marginals, yardstick="marginals of the chain"),
    ),
    family(
        "tree", "SparseMAP of dependency trees (items x words)",
        trees, (20,), (3,), strukt_trees, clarabel_trees,
        Contestant("marginals", tree_marginals, yardstick="marginals by the Matrix-Tree theorem"),
    ),
    family(
        "matching", "SparseMAP of matchings (items x rows x columns)",
        matchings, (20,), (3,), strukt_matchings, clarabel_matchings,
    ),
    family(
        "budget", "LP-SparseMAP of trees with at most two dependents for each word (items x words)",
        trees, (15,), (3,), strukt_budgets, clarabel_trees_with_budgets,
    ),
    family(
        "grid", "LP-SparseMAP of grids of binary variables (items x height x width)",
        grid, (10, 10), (2, 3), strukt_grid, clarabel_grid,
    ),
)  # fmt: skip
