"""FactorGraph: binary variables, the factors over them, and what can be asked of the whole."""

from __future__ import annotations

import math
from typing import Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from strukt.factor_graph.belief_propagation import BeliefPropagation, belief_propagation
from strukt.factor_graph.compile import Arrays, Problem, Scores, compile_graph, layout_of
from strukt.factor_graph.enumeration import Enumeration, enumerate_assignments
from strukt.factor_graph.factor import AnyFactor
from strukt.factor_graph.linear_program import Relaxation, solve_exactly, solve_relaxation
from strukt.factor_graph.mean_field import Ordering, Setting, mean_field, setting_of
from strukt.factor_graph.variables import Variables
from strukt.inference.consensus import Layout
from strukt.inference.mean_field import Course, MeanField
from strukt.structures.peer_names import FactorGraphPeerNames

F = TypeVar("F", bound=AnyFactor)


class FactorGraph(FactorGraphPeerNames):
    """Binary variables and factors, each of which permits some assignments of some variables and may score them.

    The score of an assignment that all factors permit is the sum of the scores of its ones and of the factors' own
    scores. A graph holds no scores of variables: solvers take them, in batches.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
        >>> from strukt.factor_graph import factors
        >>> graph = FactorGraph()
        >>> x = graph.variables(3)
        >>> graph.add(factors.AtMostOne(x))
        AtMostOne over 3 variables
        >>> graph.enumerate(torch.tensor([1.0, 2.0, 0.0])).mode
        tensor([0, 1, 0])
    """

    def __init__(self) -> None:
        self._shapes: list[tuple[int, ...]] = []
        self._singles = False  # whether the last array is of variables made one at a time
        self._factors: list[AnyFactor] = []
        self._layout: Layout | None = None

    def variables(self, *shape: int) -> Variables:
        """A new array of binary variables.

        Raises:
            ValueError: If the shape is not made of whole numbers from 1 on.
        """
        if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1 for n in shape):
            raise ValueError(f"the shape of variables is {shape}; expected whole numbers from 1 on")
        first, size = sum(self.arrays.sizes), math.prod(shape)
        self._layout = None
        self._singles = False
        self._shapes.append(tuple(int(n) for n in shape))
        index = np.arange(first, first + size, dtype=np.int64).reshape(shape)
        return Variables(self, index, np.zeros(shape, dtype=np.bool_))

    def variable(self) -> Variables:
        """One new binary variable.

        Those made one after another form one array: solvers take their scores as ``batch + (k,)``, in order of
        creation.

        Examples:
            >>> import torch
            >>> from strukt.factor_graph import factors
            >>> graph = FactorGraph()
            >>> graph.add(factors.Budget([graph.variable() for _ in range(3)], budget=1))
            Budget over 3 variables
            >>> graph.lp_sparsemap(torch.tensor([1.0, 0.5, -1.0])).marginals
            tensor([0.7500, 0.2500, 0.0000])
        """
        first = sum(self.arrays.sizes)
        before = self._shapes.pop()[0] if self._singles else 0
        self._layout = None
        self._singles = True
        self._shapes.append((before + 1,))
        return Variables(self, np.array(first, dtype=np.int64), np.array(False))

    def add(self, factor: F) -> F:
        """Add a factor, and give it back.

        Raises:
            ValueError: If it is no factor, or over variables of another graph, or over one variable twice.
        """
        if not isinstance(factor, AnyFactor):
            raise ValueError(f"got a {type(factor).__name__}; expected a factor, e.g. factors.Xor(variables)")
        if not hasattr(factor, "variables"):
            raise ValueError(
                f"{type(factor).__name__} has no variables; call super().__init__(variables) in it"
            )
        if factor.variables.owner is not self:
            raise ValueError(f"{factor} is over variables of another graph; expected those of this one")
        for entry in factor.entries():
            index = factor.variables.index[entry.places]
            values, counts = np.unique(index, return_counts=True)
            if (counts > 1).any():
                raise ValueError(
                    f"{factor} is over the variable {self._named(int(values[counts > 1][0]))} more than once; "
                    "expected different variables"
                )
        self._layout = None
        self._factors.append(factor)
        return factor

    @property
    def arrays(self) -> Arrays:
        """The arrays of variables, in order of creation."""
        return Arrays(tuple(self._shapes))

    @property
    def factors(self) -> tuple[AnyFactor, ...]:
        """The factors, in the order in which they were added."""
        return tuple(self._factors)

    @property
    def layout(self) -> Layout:
        """What the graph looks like to the solvers."""
        if self._layout is None:
            self._layout = layout_of(sum(self.arrays.sizes), self._factors)
        return self._layout

    def lp_sparsemap(
        self,
        scores: Scores,
        *,
        max_iterations: int | None = None,
        tol: float = 1e-9,
        start: Relaxation | None = None,
    ) -> Relaxation:
        """The sparse marginals of the graph's linear relaxation: LP-SparseMAP (Niculae and Martins 2020).

        The point nearest to the scores at which each factor sees a mean of assignments that it permits. With one
        factor it is that factor's SparseMAP.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            max_iterations: Bound on the rounds in which the factors come to agree, kept in silence: `status` tells
                which items have converged. A factor that searches for its assignments looks for at most five times
                as many in a round. Without a bound, an item that has not after 10,000 rounds is warned of.
            tol: On the error of the marginals.
            start: A former result for the same graph and batch, to start from.

        Raises:
            ValueError: If scores do not fit.
        """
        return solve_relaxation(self._problem(scores), self.arrays, 1.0, max_iterations, tol, start)

    def lp_map(
        self,
        scores: Scores,
        *,
        exact: bool = False,
        max_iterations: int | None = None,
        max_nodes: int = 1000,
        tol: float = 1e-9,
        start: Relaxation | None = None,
    ) -> Relaxation:
        """The best point of the graph's linear relaxation: an upper bound on the best score (Martins et al. 2015).

        Where it is whole, it is the best assignment. Marginals are constant where there are no ties: they have no
        derivative in the scores.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            exact: Whether to branch until the best assignment itself is found, each item on its own.
            max_iterations: Bound on the rounds in which the factors come to agree, kept in silence: `status` tells
                which items have converged. Without one, an item that has not after 10,000 rounds is warned of.
            max_nodes: Bound on the relaxations solved on the way to an exact answer.
            tol: On the error of the marginals.
            start: A former result for the same graph and batch, to start from; an exact answer needs none.

        Raises:
            ValueError: If scores do not fit.
            InfeasibleError: If an exact answer is asked for and no assignment of some item is permitted.
        """
        if max_nodes < 1:
            raise ValueError(f"max_nodes is {max_nodes}; expected at least 1")
        if exact:
            return solve_exactly(self._problem(scores), self.arrays, max_nodes, tol)
        return solve_relaxation(self._problem(scores), self.arrays, 0.0, max_iterations, tol, start)

    def mean_field(
        self,
        scores: Scores,
        *,
        iterations: int = 100,
        tol: float | None = 1e-6,
        schedule: Ordering = "sequential",
        step_size: Setting = 1.0,
        damping: Setting = 0.0,
        weights: Setting = 1.0,
        regularizer: Literal["entropy", "sparsemax"] = "entropy",
        gradients: Literal["unrolled", "implicit"] = "unrolled",
    ) -> MeanField[Tensor | tuple[Tensor, ...]]:
        """The product of independent variables that is nearest to the distribution, as far as it is found.

        With all weights 1, the entropy and a sequential schedule the free energy falls with each sweep.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            iterations: Bound on the sweeps over all variables.
            tol: On the change of the probabilities in a sweep; None to make all sweeps.
            schedule: ``sequential``: one variable or group of alternatives after the other, those that share no
                factor at once; ``parallel``: all at once; or a list of arrays of variables, one after the other,
                the variables of each at once.
            step_size: Share of its new value that a probability takes, above 0 and up to 1.
            damping: Share of its old value that a message to a variable keeps, from 0 to below 1.
            weights: Of the regulariser; by it messages are divided. These three are numbers, or tensors in the
                shapes of the variables; all variables of a group of alternatives have the same.
            regularizer: ``entropy``, or ``sparsemax`` for probabilities of which most are 0.
            gradients: ``unrolled`` through all sweeps, or ``implicit``, of the point of rest alone.

        Raises:
            ValueError: If scores or options do not fit, or a factor forbids assignments.
        """
        step, damped, weight = (
            setting_of(self.arrays, name, setting)
            for name, setting in (("step_size", step_size), ("damping", damping), ("weights", weights))
        )
        course = Course(iterations, tol, step, damped, weight, regularizer, gradients)
        return mean_field(self._problem(scores), self.arrays, course, schedule)

    def belief_propagation(
        self, scores: Scores, *, iterations: int = 200, damping: float = 0.5, tol: float = 1e-6
    ) -> BeliefPropagation:
        """Marginals by messages between factors and variables; exact if the graph has no cycle.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            iterations: Bound on the rounds of messages.
            damping: The share of its old value that a message keeps, from 0 to below 1.
            tol: On the change of the messages in a round.

        Raises:
            ValueError: If scores do not fit.
            NotImplementedError: If a factor knows no sums over its assignments.
        """
        return belief_propagation(self._problem(scores), self.arrays, iterations, damping, tol)

    def enumerate(self, scores: Scores) -> Enumeration:
        """All assignments with their scores; for up to 20 variables.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.

        Raises:
            ValueError: If scores do not fit, or there are too many variables.
        """
        return enumerate_assignments(self._problem(scores, as_given=True), self.arrays)

    def __repr__(self) -> str:
        return f"FactorGraph({sum(self.arrays.sizes)} variables, {len(self._factors)} factors)"

    def _problem(self, scores: Scores, as_given: bool = False) -> Problem:
        """The graph bound to a batch: in the type of the scores, or in double precision, as iterations need it."""
        if not self._shapes:
            raise ValueError("the graph has no variables; make some with graph.variables(...)")
        return compile_graph(
            self.arrays, self._factors, self.layout, scores, None if as_given else torch.float64
        )

    def _named(self, variable: int) -> str:
        """A variable's place in its array, for a message."""
        for number, (shape, size) in enumerate(zip(self._shapes, self.arrays.sizes, strict=True)):
            if variable < size:
                place = tuple(int(axis) for axis in np.unravel_index(variable, shape)) if shape else ()
                return f"{list(place)} of array {number}"
            variable -= size
        raise AssertionError("unreachable")
