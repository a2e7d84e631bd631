"""Hard factors: constraints of logic and counting, which permit or forbid assignments without scoring them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from strukt.factor_graph.factor import AnyFactor, Entry
from strukt.factor_graph.soft import Places, Soft
from strukt.factor_graph.variables import Variables, VariablesLike, collect, concatenate
from strukt.inference.lp_sparsemap.graph import BAND, OR_OUT
from strukt.kernels.semiring import NEG_INF

ROUNDING = 1e-9
"""The rounding error, relative to the costs, by which a sum may exceed its bound."""


class Band(AnyFactor):
    """Permit the assignments whose ones have a total cost from ``low`` to ``high``.

    Args:
        variables: Variables of any shape.
        costs: The cost of each variable, flattened; all 1 if None.
        low: The lower bound; -inf if there is none.
        high: The upper bound; inf if there is none.
    """

    def __init__(
        self,
        variables: VariablesLike,
        low: float,
        high: float,
        costs: Sequence[float] | None = None,
    ) -> None:
        super().__init__(variables)
        self.costs = np.ones(self.variables.size) if costs is None else np.asarray(costs, dtype=np.float64)
        self.low, self.high = float(low), float(high)
        self.slack = ROUNDING * float(np.abs(self.costs).sum())

    def log_potential(self, assignments: Tensor) -> Tensor:
        total = assignments.double() @ torch.as_tensor(self.costs, device=assignments.device)
        permitted = (total >= self.low - self.slack) & (total <= self.high + self.slack)
        return torch.where(permitted, assignments.new_zeros(()), NEG_INF)

    def entries(self) -> list[Entry]:
        return [Entry(BAND, np.arange(self.variables.size), self.costs, self.low, self.high)]


class Xor(Band, Soft):
    """Exactly one variable is 1."""

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
    """At least one variable is 1."""

    def __init__(self, variables: VariablesLike) -> None:
        super().__init__(variables, 1, math.inf)


class AtMostOne(Band):
    """At most one variable is 1."""

    def __init__(self, variables: VariablesLike) -> None:
        super().__init__(variables, -math.inf, 1)


class Imply(Band):
    """If all premises are 1, so is the conclusion.

    Args:
        variables: ``Imply(premise, ..., conclusion)``, or ``Imply(x)`` for an array of which the last variable is
            the conclusion.
    """

    def __init__(self, *variables: VariablesLike) -> None:
        flat = _in_a_row(variables, "variables")
        if flat.size < 2:
            raise ValueError("Imply has one variable; expected premises and a conclusion")
        super().__init__(concatenate([~flat[:-1], flat[-1:]]), 1, math.inf)


class XorOut(Band):
    """The output is 1 if exactly one input is, and 0 if none is; two inputs must not both be 1.

    Args:
        inputs: Variables of any shape.
        output: One variable; the last one of ``inputs`` if left out.
    """

    def __init__(self, inputs: VariablesLike, output: VariablesLike | None = None) -> None:
        given = _with_output(inputs, output)
        super().__init__(concatenate([given[:-1], ~given[-1:]]), 1, 1)


class Budget(Band):
    """At most, or exactly, ``budget`` variables are 1.

    Args:
        variables: Variables of any shape.
        budget: An integer of 0 or more.
        exactly: Whether fewer are forbidden, too.
    """

    def __init__(self, variables: VariablesLike, budget: int, exactly: bool = False) -> None:
        if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < 0:
            raise ValueError(f"budget is {budget!r}; expected a whole number from 0 on")
        super().__init__(variables, budget if exactly else -math.inf, budget)
        if exactly and budget > self.variables.size:
            raise ValueError(
                f"budget is {budget}, but there are only {self.variables.size} variables to be 1"
            )


class OrOut(AnyFactor):
    """The output is 1 if and only if at least one input is.

    Args:
        inputs: Variables of any shape.
        output: One variable; the last one of ``inputs`` if left out.
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
        output: One variable; the last one of ``inputs`` if left out.
    """

    def __init__(self, inputs: VariablesLike, output: VariablesLike | None = None) -> None:
        super().__init__(~_with_output(inputs, output))


def _in_a_row(values: Sequence[VariablesLike], name: str) -> Variables:
    return concatenate([collect(value, name).flatten() for value in values])


def _with_output(inputs: VariablesLike, output: VariablesLike | None) -> Variables:
    """Return the inputs followed by the output.

    Raises:
        ValueError: If there is no input, or not one output.
    """
    if output is None:
        flat = collect(inputs, "inputs").flatten()
    else:
        last = collect(output, "output").flatten()
        if last.size != 1:
            raise ValueError(f"output has {last.size} variables; expected one")
        flat = _in_a_row([inputs, last], "inputs and output")
    if flat.size < 2:
        raise ValueError("there is one variable; expected at least one input, and an output")
    return flat
