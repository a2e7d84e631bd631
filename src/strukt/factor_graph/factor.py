"""The base classes of factors: `AnyFactor`, and `Factor` for user-defined ones with a MAP oracle."""

from __future__ import annotations

import abc
import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.factor_graph.variables import Variables, VariablesLike, collect
from strukt.inference.lp_sparsemap.graph import ORACLE
from strukt.kernels.semiring import NEG_INF

CERTAIN = 1e6
"""An assignment is permitted if `map` returns it for this score of its ones, and minus this score of its zeros."""


@dataclass(frozen=True)
class Entry:
    """One entry of a `strukt.inference.lp_sparsemap.graph.Layout`, which solvers treat as one factor.

    Attributes:
        kind: `BAND`, `OR_OUT`, `PAIR` or `ORACLE`.
        places: The indices of the entry's variables among those of the factor.
        costs: The costs of a `BAND`, in the order of ``places``; None for other kinds.
        low: The lower bound of a `BAND`.
        high: The upper bound of a `BAND`.
        pair: The index of the score of a `PAIR` among the factor's scores; -1 for other kinds.
    """

    kind: int
    places: npt.NDArray[np.int64]
    costs: npt.NDArray[np.float64] | None = None
    low: float = -np.inf
    high: float = np.inf
    pair: int = -1


class AnyFactor(abc.ABC):
    """The base class of all factors: permitted 0/1 assignments of some variables, each with a local score.

    A factor need not know which variables are negated: the graph passes it 1 minus the value of a negated
    variable. A subclass implements `log_potential`; factors of users derive from `Factor` instead.

    Args:
        variables: Variables of one graph, in any shape.

    Attributes:
        variables: The variables along one axis.

    Raises:
        ValueError: If there are no variables, or they belong to different graphs.
    """

    tensors: Mapping[str, int] = {}
    """The tensor attributes by name, each with its number of axes after the batch axes.

    They are the tensors that the user passed, not views of them: a parameter may get new data, as in
    ``module.double()``, which a view would miss.
    """

    def __init__(self, variables: VariablesLike) -> None:
        self.variables: Variables = collect(variables, "variables").flatten()
        if not self.variables.size:
            raise ValueError(f"{type(self).__name__} has no variables; expected at least one")

    @abc.abstractmethod
    def log_potential(self, assignments: Tensor) -> Tensor:
        """Return the local scores ``(k, batch)`` of k assignments ``(k, batch, size)``; -inf if not permitted.

        ``size`` is the number of variables. The batch axis of the arguments and the result may have size 1.
        """

    def entries(self) -> list[Entry]:
        """Return the entries of the factor in the layout: one, unless it combines several factors."""
        return [Entry(ORACLE, np.arange(self.variables.size))]

    @property
    def batch_shape(self) -> torch.Size:
        """The shape to which the batch shapes of all tensors broadcast; RuntimeError if they do not."""
        shapes = [getattr(self, name).shape for name in self.tensors]
        return arguments.broadcast_shapes(
            *(shape[: len(shape) - axes] for shape, axes in zip(shapes, self.tensors.values(), strict=True))
        )

    def bound(self, batch_shape: torch.Size, scores: Tensor) -> Self:
        """Return the factor with tensors that have one batch axis, of size 1 if all items share the tensor.

        Args:
            batch_shape: The batch shape of the problem.
            scores: A tensor with the type and device to compute with.
        """
        if not self.tensors:
            return self
        bound = copy.copy(self)
        for name, axes in self.tensors.items():
            value: Tensor = getattr(self, name).to(scores)
            batched, local = value.shape[: value.dim() - axes], value.shape[value.dim() - axes :]
            shared = batched.numel() == 1
            rows = value if shared else value.expand(batch_shape + local)
            setattr(bound, name, rows.reshape(1 if shared else batch_shape.numel(), *local))
        return bound

    def of_item(self, item: int) -> Self:
        """Return the factor of one item of the batch that was passed to `bound`, by the number of the item."""
        one = copy.copy(self)
        for name in self.tensors:
            setattr(one, name, row_of(getattr(self, name), item))
        return one

    def __repr__(self) -> str:
        return f"{type(self).__name__} over {self.variables.size} variables"


class Factor(AnyFactor):
    """The base class of user-defined factors; a subclass implements `map`, and `score` if it has local scores.

    An active-set method computes SparseMAP from calls of `map`. This suffices for `lp_sparsemap` and its
    derivatives, and for `lp_map` and `enumerate`, but not for `belief_propagation` and `mean_field`.

    An assignment counts as permitted if `map` returns it for scores of 1e6 for its ones and -1e6 for its zeros.
    Local scores must therefore be much smaller than 1e6.

    Args:
        variables: Variables of one graph, in any shape; `map` gets their scores along one axis.

    Raises:
        ValueError: If there are no variables, or they belong to different graphs.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
        >>> from strukt.factor_graph.factors import Factor
        >>> class Equal(Factor):
        ...     '''All variables have the same value.'''
        ...     def map(self, scores):
        ...         return (scores.sum(-1, keepdim=True) > 0).expand_as(scores)
        >>> graph = FactorGraph()
        >>> graph.add(Equal(graph.variables(3)))
        Equal over 3 variables
        >>> graph.enumerate(torch.tensor([1.0, 0.0, 1.0])).assignments
        tensor([[0, 0, 0],
                [1, 1, 1]])
    """

    @abc.abstractmethod
    def map(self, scores: Tensor) -> Tensor:
        """Return the best permitted assignment for each item.

        The value of an assignment is the sum of the scores of its ones plus its local score (`score`).

        Args:
            scores: ``(batch, size)``, finite.

        Returns:
            ``(batch, size)``, with entries 0 and 1 of any type.
        """

    def score(self, assignments: Tensor) -> Tensor:
        """Return the local scores of assignments, differentiable; 0 by default.

        Some methods of the graph, such as `enumerate`, also pass assignments that are not permitted. Their scores
        are ignored.

        Args:
            assignments: ``(k, batch, size)``, with entries 0 and 1.

        Returns:
            ``(k, batch)``.
        """
        return assignments.new_zeros(assignments.shape[:2])

    def log_potential(self, assignments: Tensor) -> Tensor:
        certain = CERTAIN * (2 * assignments - 1)
        permitted = torch.stack(
            [(self.best(c) == a).all(-1) for c, a in zip(certain, assignments, strict=True)]
        )
        return torch.where(permitted, self.local_scores(assignments), NEG_INF)

    def best(self, scores: Tensor) -> Tensor:
        """Check the result of `map` and return it in the type of the scores.

        Args:
            scores: ``(batch, size)``, as for `map`.

        Returns:
            ``(batch, size)``, with entries 0 and 1.

        Raises:
            ValueError: If the shape of the result is not that of the scores, or it has values other than 0 and 1.
        """
        result = self.map(scores)
        if not isinstance(result, Tensor) or result.shape != scores.shape:
            raise ValueError(
                f"map of {type(self).__name__} returned {_described(result)} for scores of shape "
                f"{tuple(scores.shape)}; expected an assignment of the same shape"
            )
        result = result.to(scores)
        if not bool(((result == 0) | (result == 1)).all()):
            raise ValueError(f"map of {type(self).__name__} returned numbers other than 0 and 1")
        return result

    def local_scores(self, assignments: Tensor) -> Tensor:
        """Check the result of `score` and return it in the type of the assignments.

        Args:
            assignments: ``(k, batch, size)``, as for `score`.

        Returns:
            ``(k, batch)``.

        Raises:
            ValueError: If the result is not one number for each assignment.
        """
        result = self.score(assignments)
        if not isinstance(result, Tensor) or result.shape != assignments.shape[:2]:
            raise ValueError(
                f"score of {type(self).__name__} returned {_described(result)} for assignments of shape "
                f"{tuple(assignments.shape)}; expected {tuple(assignments.shape[:2])}"
            )
        return result.to(assignments.dtype)


def row_of(value: Tensor, item: int) -> Tensor:
    """Return one item of a batched tensor, with a batch axis of size 1, which shared tensors have already."""
    return value if len(value) == 1 else value[item : item + 1]


def _described(result: object) -> str:
    return f"shape {tuple(result.shape)}" if isinstance(result, Tensor) else f"a {type(result).__name__}"


def folded(value: Tensor, axes: int) -> Tensor:
    """Merge the last ``axes`` axes of a tensor into one; if ``axes`` is 0, add an axis of size 1."""
    batch = value.dim() - axes
    return value.reshape(*value.shape[:batch], value.shape[batch:].numel())


def require_trailing(name: str, value: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless a tensor holds scores of shape ``batch + shape``."""
    arguments.scores(name, value, f"batch + {shape}", 0)
    if value.dim() < len(shape) or tuple(value.shape[value.dim() - len(shape) :]) != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected batch + {shape}")
