"""Knapsack factors: the total cost of the variables that are 1 has an upper bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.factor_graph.counting import count, whole
from strukt.factor_graph.factor import Entry
from strukt.factor_graph.logic import Band
from strukt.factor_graph.oracles import Oracle
from strukt.factor_graph.variables import VariablesLike, collect
from strukt.inference.lp_sparsemap.graph import ORACLE
from strukt.kernels.arrays import Floats
from strukt.kernels.semiring import logsumexp
from strukt.kernels.undifferentiated import numpy_of


class RelaxedKnapsack(Band):
    """The total cost of the variables that are 1 is at most ``budget``; relaxations limit only the expected cost.

    The marginals p of the variables in a relaxation only need ``0 <= p <= 1`` and ``sum costs * p <= budget``, for
    which SparseMAP has a closed form. This allows more than `Knapsack`, whose marginals are convex combinations of
    permitted assignments.

    Args:
        variables: Variables of any shape.
        costs: The cost of each variable, 0 or more, in the shape of the variables or flattened.
            `belief_propagation` raises NotImplementedError unless all costs are whole numbers.
        budget: The maximum total cost, 0 or more.

    Raises:
        ValueError: If the number of costs differs from that of variables, a number is negative or not finite,
            there are no variables, or they belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(RelaxedKnapsack(graph.variables(2), [2.0, 2.0], budget=3.0))
        RelaxedKnapsack over 2 variables
        >>> graph.lp_sparsemap(torch.tensor([5.0, 5.0])).marginals
        tensor([0.7500, 0.7500])
    """

    def __init__(self, variables: VariablesLike, costs: Sequence[float] | Tensor, budget: float) -> None:
        values = np.asarray(costs.tolist() if isinstance(costs, Tensor) else costs, dtype=np.float64).reshape(
            -1
        )
        size = collect(variables, "variables").size
        if len(values) != size:
            raise ValueError(f"costs has {len(values)} entries for {size} variables; expected one for each")
        wrong = values[~(np.isfinite(values) & (values >= 0))]
        if len(wrong):
            raise ValueError(f"costs holds {wrong[0]}; expected finite numbers of 0 or more")
        if not 0 <= budget < math.inf:
            raise ValueError(f"budget is {budget!r}; expected a finite number of 0 or more")
        super().__init__(variables, -math.inf, budget, values.tolist())


class Knapsack(RelaxedKnapsack):
    """The total cost of the variables that are 1 is at most ``budget``.

    In `lp_sparsemap`, an active-set method over the permitted assignments solves the subproblem of this factor.
    The best assignment is computed by dynamic programming over the Pareto-optimal ones, which no other assignment
    beats in both score and cost (Nemhauser and Ullmann 1969). There are at most ``budget + 1`` of them for integer
    costs, few for random costs, and in the worst case 2^n for n variables.

    Args:
        variables: Variables of any shape.
        costs: The cost of each variable, 0 or more, in the shape of the variables or flattened.
            `belief_propagation` raises NotImplementedError unless all costs are whole numbers.
        budget: The maximum total cost, 0 or more.

    Raises:
        ValueError: If the number of costs differs from that of variables, a number is negative or not finite,
            there are no variables, or they belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(Knapsack(graph.variables(2), [2.0, 2.0], budget=3.0))
        Knapsack over 2 variables
        >>> graph.lp_sparsemap(torch.tensor([5.0, 5.0])).marginals
        tensor([0.5000, 0.5000])
    """

    def entries(self) -> list[Entry]:
        return [Entry(ORACLE, np.arange(self.variables.size))]

    @property
    def oracle(self) -> KnapsackOracle:
        """The oracle of the factor."""
        return KnapsackOracle(self.costs, self.high, self.slack)


class KnapsackOracle(Oracle):
    """The oracle of a `Knapsack`.

    Args:
        costs: The cost of each variable.
        budget: The maximum total cost.
        slack: The rounding error by which a total cost may exceed the budget.
    """

    def __init__(self, costs: Floats, budget: float, slack: float) -> None:
        self._costs, self._budget, self._slack = costs, budget, slack

    def on_cpu(self, device: torch.device) -> KnapsackOracle:  # noqa: ARG002
        return self

    def best(self, scores: Tensor) -> Tensor:
        rows = numpy_of(scores)
        chosen = rows > 0
        for row in np.flatnonzero(chosen @ self._costs > self._budget + self._slack):
            chosen[row] = solve_knapsack(rows[row], self._costs, self._budget + self._slack)
        return torch.from_numpy(chosen).to(scores)

    def local_scores(self, vertices: Tensor) -> Tensor:
        return vertices.new_zeros(vertices.shape[:2])

    def permits(self, vertices: Tensor) -> Tensor:
        costs = torch.from_numpy(self._costs).to(vertices)
        return vertices @ costs <= self._budget + self._slack

    def least(self) -> float:
        return 0.0

    def messages(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        costs = whole(self._costs)
        most = min(math.floor(self._budget + self._slack), sum(costs))
        sums, totals = count(weights, costs, weights.new_zeros(most + 1), saturating=False)
        return sums, logsumexp(totals, -1)

    def __repr__(self) -> str:
        return "Knapsack"


def solve_knapsack(scores: Floats, costs: Floats, budget: float) -> npt.NDArray[np.bool_]:
    """Solve the knapsack problem: select items of the largest total score and a total cost within the budget.

    Args:
        scores: ``(n,)``; items with a score of 0 or less are never selected.
        costs: ``(n,)``, 0 or more.
        budget: The maximum total cost.

    Returns:
        ``(n,)``, True for the selected items.

    Complexity: O(n p log p) for at most p Pareto-optimal selections.

    Examples:
        >>> solve_knapsack(np.array([3.0, 4.0, 5.0, -1.0]), np.array([2.0, 2.0, 3.0, 0.0]), 4.0)
        array([ True,  True, False, False])
    """
    items = np.flatnonzero((scores > 0) & (costs <= budget))
    totals, values = np.zeros(1), np.zeros(1)
    origins = []  # for each item, the selections that are kept, and how many there were without the item
    for item in items:
        # All selections without the item, then with it. Keep those that score more than all that cost no more.
        totals = np.concatenate([totals, totals + costs[item]])
        values = np.concatenate([values, values + scores[item]])
        order = np.lexsort((-values, totals))
        order = order[totals[order] <= budget]
        highest = np.maximum.accumulate(values[order])
        kept = order[np.concatenate([[True], highest[1:] > highest[:-1]])]
        origins.append((kept, len(totals) // 2))
        totals, values = totals[kept], values[kept]
    taken = np.zeros(len(scores), dtype=np.bool_)
    place = len(totals) - 1
    for item, (kept, without) in zip(items[::-1], origins[::-1], strict=True):
        taken[item] = kept[place] >= without
        place = kept[place] % without
    return taken
