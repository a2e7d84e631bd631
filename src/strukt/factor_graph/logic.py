"""Hard factors: logical and counting constraints, without local scores."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.factor_graph.factor import AnyFactor, Entry
from strukt.factor_graph.soft import Places, Soft
from strukt.factor_graph.variables import Variables, VariablesLike, collect, concatenate
from strukt.inference.lp_sparsemap.graph import BAND, OR_OUT
from strukt.kernels.semiring import NEG_INF

ROUNDING = 1e-9
"""The rounding error, relative to a bound, by which a total may exceed it."""


class Band(AnyFactor):
    """The total cost of the variables that are 1 is from ``low`` to ``high``.

    Args:
        variables: Variables of any shape.
        low: The lower bound; -inf for none.
        high: The upper bound; inf for none.
        costs: The cost of each variable, 0 or more, flattened; 1 by default.
    """

    def __init__(
        self, variables: VariablesLike, low: float, high: float, costs: Sequence[float] | None = None
    ) -> None:
        super().__init__(variables)
        self.costs = np.ones(self.variables.size) if costs is None else np.asarray(costs, dtype=np.float64)
        self.low, self.high = float(low), float(high)
        # Relative to the bounds, not to all costs: one very large cost must not permit totals out of bounds.
        bounds = [abs(bound) for bound in (self.low, self.high) if math.isfinite(bound)]
        self.slack = ROUNDING * max(bounds, default=0.0)

    def log_potential(self, assignments: Tensor) -> Tensor:
        total = assignments.double() @ torch.as_tensor(self.costs, device=assignments.device)
        permitted = (total >= self.low - self.slack) & (total <= self.high + self.slack)
        return torch.where(permitted, assignments.new_zeros(()), NEG_INF)

    def entries(self) -> list[Entry]:
        return [Entry(BAND, np.arange(self.variables.size), self.costs, self.low, self.high)]


class Xor(Band, Soft):
    """Exactly one variable is 1.

    Args:
        variables: Variables of any shape.

    Raises:
        ValueError: If there are no variables, or they belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(Xor(graph.variables(3)))
        Xor over 3 variables
        >>> graph.enumerate(torch.zeros(3)).assignments
        tensor([[0, 0, 1],
                [0, 1, 0],
                [1, 0, 0]])
    """

    def __init__(self, variables: VariablesLike) -> None:
        super().__init__(variables, 1, 1)

    def groups(self) -> list[Places]:
        return [np.arange(self.variables.size)]

    def cliques(self) -> list[Places]:
        return []

    def expected(self, probabilities: Tensor) -> Tensor:
        return torch.zeros_like(probabilities[..., 0])

    def fields(self, probabilities: Tensor) -> Tensor:
        return torch.zeros_like(probabilities)

    def is_finite(self) -> bool:
        return True


class Or(Band):
    """At least one variable is 1.

    Args:
        variables: Variables of any shape.

    Raises:
        ValueError: If there are no variables, or they belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(Or(graph.variables(2)))
        Or over 2 variables
        >>> graph.enumerate(torch.zeros(2)).assignments
        tensor([[0, 1],
                [1, 0],
                [1, 1]])
    """

    def __init__(self, variables: VariablesLike) -> None:
        super().__init__(variables, 1, math.inf)


class AtMostOne(Band):
    """At most one variable is 1.

    Args:
        variables: Variables of any shape.

    Raises:
        ValueError: If there are no variables, or they belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(AtMostOne(graph.variables(2)))
        AtMostOne over 2 variables
        >>> graph.enumerate(torch.zeros(2)).assignments
        tensor([[0, 0],
                [0, 1],
                [1, 0]])
    """

    def __init__(self, variables: VariablesLike) -> None:
        super().__init__(variables, -math.inf, 1)


class Imply(Band):
    """If all premises are 1, the conclusion is 1.

    Args:
        variables: ``Imply(premise, ..., conclusion)``, or ``Imply(x)`` for an array whose last variable is the
            conclusion.

    Raises:
        ValueError: If there is no premise, or variables belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> rain, wet = graph.variable(), graph.variable()
        >>> graph.add(Imply(rain, wet))
        Imply over 2 variables
        >>> graph.enumerate(torch.zeros(2)).assignments
        tensor([[0, 0],
                [0, 1],
                [1, 1]])
    """

    def __init__(self, *variables: VariablesLike) -> None:
        flat = _flattened(variables, "variables")
        if flat.size < 2:
            raise ValueError("Imply has one variable; expected premises and a conclusion")
        super().__init__(concatenate([~flat[:-1], flat[-1:]]), 1, math.inf)


class XorOut(Band):
    """At most one input is 1, and the output is 1 if and only if one input is.

    Args:
        inputs: Variables of any shape.
        output: One variable; by default the last one of ``inputs``.

    Raises:
        ValueError: If there is no input or more than one output, or if variables belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(XorOut(graph.variables(2), output=graph.variable()))
        XorOut over 3 variables
        >>> len(graph.enumerate((torch.zeros(2), torch.zeros(1))).assignments)  # 000, 011 and 101
        3
    """

    def __init__(self, inputs: VariablesLike, output: VariablesLike | None = None) -> None:
        variables = _with_output(inputs, output)
        super().__init__(concatenate([variables[:-1], ~variables[-1:]]), 1, 1)


class Budget(Band):
    """At most ``budget`` variables are 1; with ``exactly``, exactly that many.

    Args:
        variables: Variables of any shape.
        budget: An integer of 0 or more.
        exactly: Whether exactly ``budget`` variables must be 1.

    Raises:
        ValueError: If ``budget`` is not such an integer, or with ``exactly`` exceeds the number of variables; if
            ``exactly`` is not a Boolean; or if there are no variables, or they belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(Budget(graph.variables(4), 2))
        Budget over 4 variables
        >>> graph.enumerate(torch.tensor([1.0, 3.0, 2.0, -1.0])).mode
        tensor([0, 1, 1, 0])
    """

    def __init__(self, variables: VariablesLike, budget: int, exactly: bool = False) -> None:
        if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < 0:
            raise ValueError(f"budget is {budget!r}; expected a whole number of 0 or more")
        super().__init__(variables, budget if arguments.boolean("exactly", exactly) else -math.inf, budget)
        size = self.variables.size
        if exactly and budget > size:
            raise ValueError(f"budget is {budget}, but there are only {size} variables; expected at most {size}")


class OrOut(AnyFactor):
    """The output is 1 if and only if at least one input is.

    Args:
        inputs: Variables of any shape.
        output: One variable; by default the last one of ``inputs``.

    Raises:
        ValueError: If there is no input or more than one output, or if variables belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(OrOut(graph.variables(3)))
        OrOut over 3 variables
        >>> graph.enumerate(torch.zeros(3)).assignments
        tensor([[0, 0, 0],
                [0, 1, 1],
                [1, 0, 1],
                [1, 1, 1]])
    """

    def __init__(self, inputs: VariablesLike, output: VariablesLike | None = None) -> None:
        super().__init__(_with_output(inputs, output))

    def log_potential(self, assignments: Tensor) -> Tensor:
        permitted = (assignments[..., :-1] > 0).any(-1) == (assignments[..., -1] > 0)
        return torch.where(permitted, assignments.new_zeros(()), NEG_INF)

    def entries(self) -> list[Entry]:
        return [Entry(OR_OUT, np.arange(self.variables.size))]


class And(OrOut):
    """The output is 1 if and only if all inputs are: an `OrOut` of the negated variables.

    Args:
        inputs: Variables of any shape.
        output: One variable; by default the last one of ``inputs``.

    Raises:
        ValueError: If there is no input or more than one output, or if variables belong to different graphs.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> graph.add(And(graph.variables(3)))
        And over 3 variables
        >>> graph.enumerate(torch.zeros(3)).assignments
        tensor([[0, 0, 0],
                [0, 1, 0],
                [1, 0, 0],
                [1, 1, 1]])
    """

    def __init__(self, inputs: VariablesLike, output: VariablesLike | None = None) -> None:
        super().__init__(~_with_output(inputs, output))


def _flattened(values: Sequence[VariablesLike], name: str) -> Variables:
    return collect([collect(value, name).flatten() for value in values], name).flatten()


def _with_output(inputs: VariablesLike, output: VariablesLike | None) -> Variables:
    """Return the inputs followed by the output.

    Raises:
        ValueError: If there is no input, or ``output`` is not one variable.
    """
    if output is None:
        flat = collect(inputs, "inputs").flatten()
    else:
        last = collect(output, "output").flatten()
        if last.size != 1:
            raise ValueError(f"output has {last.size} variables; expected one")
        flat = _flattened([collect(inputs, "inputs"), last], "(inputs, output)")
    if flat.size < 2:
        raise ValueError("inputs has one variable; expected at least one input, and an output")
    return flat
