"""`FactorGraph`: binary variables, factors over them, and inference in the whole graph."""

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
from strukt.inference.lp_sparsemap.graph import Layout
from strukt.inference.mean_field import MeanField, Settings
from strukt.structures.peer_names import FactorGraphPeerNames

F = TypeVar("F", bound=AnyFactor)


class FactorGraph(FactorGraphPeerNames):
    """Binary variables and factors; each factor permits some assignments of its variables, and may score them.

    The score of an assignment is the sum of the scores of its ones and the local scores of all factors. Solvers
    take the scores of variables as arguments, in batches; a score of -inf fixes its variable to 0.

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
        self._singles = False  # True if the last array collects the variables created one at a time
        self._factors: list[AnyFactor] = []
        self._layout: Layout | None = None

    def variables(self, *shape: int) -> Variables:
        """Create an array of binary variables of the given shape.

        Raises:
            ValueError: If a size is not an integer of 1 or more.
        """
        if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1 for n in shape):
            raise ValueError(f"the shape of variables is {shape}; expected whole numbers of 1 or more")
        first, size = sum(self.arrays.sizes), math.prod(shape)
        self._layout = None
        self._singles = False
        self._shapes.append(tuple(int(n) for n in shape))
        index = np.arange(first, first + size, dtype=np.int64).reshape(shape)
        return Variables(self, index, np.zeros(shape, dtype=np.bool_))

    def variable(self) -> Variables:
        """Create one binary variable.

        Consecutive calls extend one array: solvers take the scores of k such variables as ``batch + (k,)``, in
        order of creation.

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
        """Add a factor to the graph and return it.

        Raises:
            ValueError: If ``factor`` is not a factor, has no variables or those of another graph, or has the same
                variable twice; in a `Pairwise`, twice in one pair.
        """
        if not isinstance(factor, AnyFactor):
            raise ValueError(
                f"factor is a {type(factor).__name__}; expected a factor, e.g. factors.Xor(variables)"
            )
        if not hasattr(factor, "variables"):
            raise ValueError(
                f"{type(factor).__name__} has no variables; call super().__init__(variables) in its constructor"
            )
        if factor.variables.owner is not self:
            raise ValueError(f"{factor} has variables of another graph; expected variables of this one")
        for entry in factor.entries():
            index = factor.variables.index[entry.places]
            values, counts = np.unique(index, return_counts=True)
            if (counts > 1).any():
                raise ValueError(
                    f"{factor} has variable {self._named(int(values[counts > 1][0]))} more than once; "
                    "expected distinct variables"
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
        """The factors as arrays, for the solvers."""
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
        """Return sparse marginals by LP-SparseMAP (Niculae and Martins 2020).

        Without local scores, they are the point nearest to the scores at which the marginals of each factor's
        variables are a convex combination of the factor's permitted assignments. With a single factor this is the
        factor's SparseMAP.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            max_iterations: Maximum number of rounds of ADMM. By default 10,000, with a warning if items have not
                converged (`status` is False for them), as when factors contradict each other. In one round, a
                factor calls its oracle at most ``min(5 * max_iterations, 2000)`` times.
            tol: The error allowed in the marginals, above 0.
            start: An earlier result for the same graph and batch, as a warm start; None for a cold one.

        Raises:
            ValueError: If scores or options do not fit.
            InfeasibleError: If a `Factor`, `Dense` or `Structure` permits no assignment.

        Examples:
            >>> import torch
            >>> from strukt.factor_graph import factors
            >>> graph = FactorGraph()
            >>> graph.add(factors.Xor(graph.variables(3)))
            Xor over 3 variables
            >>> scores = torch.tensor([1.0, 0.5, -1.0])
            >>> graph.lp_sparsemap(scores).marginals, graph.lp_map(scores).marginals
            (tensor([0.7500, 0.2500, 0.0000]), tensor([1., 0., 0.]))
            >>> graph.belief_propagation(scores).marginals  # exact, as there is no cycle
            tensor([0.5741, 0.3482, 0.0777])
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
        """Return the optimum of the linear relaxation of MAP, LP-MAP (Martins et al. 2015).

        Its value is an upper bound on the best score. If the marginals are integers, they are the best assignment.
        The marginals are piecewise constant in the scores, so they have no gradient.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            exact: Whether to return the best assignment itself, by branch and bound, one item after another.
            max_iterations: Maximum number of rounds of ADMM; `status` is True for items that have converged. By
                default 10,000, with a warning if items have not converged. Ignored if ``exact``.
            max_nodes: Maximum number of relaxations for the best assignment of an item, if ``exact``. If it is
                reached, the best assignment found so far is returned with a warning, and `status` is False.
            tol: The error allowed in the marginals, above 0.
            start: An earlier result for the same graph and batch, as a warm start; ignored if ``exact``.

        Raises:
            ValueError: If scores or options do not fit, or no permitted assignment is found within ``max_nodes``.
            InfeasibleError: As in `lp_sparsemap`; if ``exact``, whenever some item has no permitted assignment.

        Warns:
            UserWarning: If items have not converged and ``max_iterations`` is None, or ``max_nodes`` is reached.
        """
        if not max_nodes >= 1:
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
        """Return the mean-field approximation: a product of independent variables close to the distribution.

        Sequential sweeps do not raise the free energy, unless a step size below 1 is combined with damping.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            iterations: Maximum number of sweeps over all variables.
            tol: Stop when no probability changes by more than this in a sweep, else warn; None for all sweeps.
            schedule: ``"sequential"`` updates variables and groups of alternatives (exactly one of a group is 1)
                one after another, but together if they share no term of a factor. ``"parallel"`` updates all at
                once. A list of arrays of variables, which hold each variable once, updates array after array.
            step_size: The weight of the new probability, above 0 and up to 1; the old one has the remaining
                weight.
            damping: The weight of the old message to a variable, 0 or more and below 1.
            weights: The weight of the regulariser, above 0, by which messages are divided. ``step_size``,
                ``damping`` and ``weights`` are numbers, or tensors in the shapes of the variables, equal within
                each group of alternatives.
            regularizer: ``"entropy"``, or ``"sparsemax"`` for sparse probabilities.
            gradients: ``"unrolled"`` through all sweeps; ``"implicit"`` at the fixed point, first order only.

        Raises:
            ValueError: If scores or options do not fit, a factor other than `Xor` forbids assignments, or a pair
                or table scores several alternatives of one group together.
        """
        step, damped, weight = (
            setting_of(self.arrays, name, setting)
            for name, setting in (("step_size", step_size), ("damping", damping), ("weights", weights))
        )
        settings = Settings(iterations, tol, step, damped, weight, regularizer, gradients)
        return mean_field(self._problem(scores), self.arrays, settings, schedule)

    def belief_propagation(
        self, scores: Scores, *, iterations: int = 200, damping: float = 0.5, tol: float = 1e-6
    ) -> BeliefPropagation:
        """Return marginals by loopy belief propagation; exact if the graph has no cycle.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.
            iterations: Maximum number of rounds of messages.
            damping: The weight of the old message in the new one, 0 or more and below 1.
            tol: Stop when no message changes by more than this, relative to its size, in a round; else warn.

        Raises:
            ValueError: If scores or options do not fit.
            NotImplementedError: If a factor cannot sum over its assignments, e.g. a user-defined `Factor`.
        """
        return belief_propagation(self._problem(scores), self.arrays, iterations, damping, tol)

    def enumerate(self, scores: Scores) -> Enumeration:
        """Return all permitted assignments of up to 20 variables, with their scores.

        Args:
            scores: ``batch +`` the shape of the variables; a sequence of these if there are several arrays.

        Raises:
            ValueError: If scores do not fit, or there are more than 20 variables.
        """
        return enumerate_assignments(self._problem(scores, keep_dtype=True), self.arrays)

    def __repr__(self) -> str:
        return f"FactorGraph({sum(self.arrays.sizes)} variables, {len(self._factors)} factors)"

    def _problem(self, scores: Scores, keep_dtype: bool = False) -> Problem:
        """Bind the graph to scores, in double precision for iterative solvers or in the type of the scores."""
        if not self._shapes:
            raise ValueError("the graph has no variables; create some with graph.variables(...)")
        dtype = None if keep_dtype else torch.float64
        return compile_graph(self.arrays, self._factors, self.layout, scores, dtype)

    def _named(self, variable: int) -> str:
        """Return the position of a variable in its array, as text for error messages."""
        for number, (shape, size) in enumerate(zip(self._shapes, self.arrays.sizes, strict=True)):
            if variable < size:
                place = tuple(int(axis) for axis in np.unravel_index(variable, shape)) if shape else ()
                return f"{list(place)} of array {number}"
            variable -= size
        raise AssertionError("unreachable")
