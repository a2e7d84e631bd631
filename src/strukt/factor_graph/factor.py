"""The base classes of factors: `AnyFactor`, and `Factor` for those that only know their best assignment."""

from __future__ import annotations

import abc
import copy
from dataclasses import dataclass
from typing import ClassVar

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
"""The size of scores that leave a factor no choice but the requested assignment, if that is permitted."""


@dataclass(frozen=True)
class Entry:
    """One factor of the `strukt.inference.lp_sparsemap.graph.Layout`.

    Attributes:
        kind: `BAND`, `OR_OUT`, `PAIR` or `ORACLE`.
        places: The indices of its variables among those of the factor.
        costs: The costs of a `BAND`, in the order of ``places``.
        low: The lower bound of a `BAND`.
        high: The upper bound of a `BAND`.
        own: The index of a `PAIR`'s score among those of the factor; -1 for other kinds.
    """

    kind: int
    places: npt.NDArray[np.int64]
    costs: npt.NDArray[np.float64] | None = None
    low: float = -np.inf
    high: float = np.inf
    own: int = -1


class AnyFactor(abc.ABC):
    """The permitted 0/1 assignments of some variables, each with a local score.

    Factors never see that a variable is negated: the graph passes one minus its value.

    Args:
        variables: Variables of one graph, in any shape.

    Attributes:
        variables: The variables along one axis.

    Raises:
        ValueError: If there are none, or they are of different graphs.
    """

    tensors: ClassVar[dict[str, int]] = {}
    """The names of the attributes that are tensors, each with its number of axes after those of the batch."""

    def __init__(self, variables: VariablesLike) -> None:
        self.variables: Variables = collect(variables, "variables").flatten()
        if not self.variables.size:
            raise ValueError(f"{type(self).__name__} has no variables; expected at least one")

    @abc.abstractmethod
    def log_potential(self, assignments: Tensor) -> Tensor:
        """Return the local scores ``(k, batch)`` of assignments ``(k, batch, size)``; -inf if not permitted.

        The batch axis of either may have size 1.
        """

    def entries(self) -> list[Entry]:
        """Return the entries of the layout: one, or one for each of several factors added together."""
        return [Entry(ORACLE, np.arange(self.variables.size))]

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of its tensors, broadcast."""
        shapes = [getattr(self, name).shape for name in self.tensors]
        return arguments.broadcast_shapes(
            *(shape[: len(shape) - axes] for shape, axes in zip(shapes, self.tensors.values(), strict=True))
        )

    def bound(self, batch_shape: torch.Size, scores: Tensor) -> Self:
        """Return the factor for a batch: its tensors get one batch axis, of size 1 where all items share them.

        Args:
            batch_shape: The batch shape of the problem.
            scores: A tensor of the type and on the device to compute with.
        """
        if not self.tensors:
            return self
        bound = copy.copy(self)
        for name, axes in self.tensors.items():
            value: Tensor = getattr(self, name).to(scores)
            batched, own = value.shape[: value.dim() - axes], value.shape[value.dim() - axes :]
            shared = batched.numel() == 1
            rows = value if shared else value.expand(batch_shape + own)
            setattr(bound, name, rows.reshape(1 if shared else batch_shape.numel(), *own))
        return bound

    def of_item(self, item: int) -> Self:
        """Return the factor for one item of the batch that it is bound to."""
        one = copy.copy(self)
        for name in self.tensors:
            value = getattr(self, name)
            setattr(one, name, value if len(value) == 1 else value[item : item + 1])
        return one

    def __repr__(self) -> str:
        return f"{type(self).__name__} over {self.variables.size} variables"


class Factor(AnyFactor):
    """A user-defined factor; `map` is all that it needs.

    An active set derives SparseMAP from `map`, and with it `lp_sparsemap`, `lp_map` and their derivatives.

    Args:
        variables: Variables of one graph, in any shape; `map` sees them along one axis.

    Raises:
        ValueError: If there are none, or they are of different graphs.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
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
        """Return the permitted assignment of the largest sum of the scores of its ones and its local score.

        Args:
            scores: ``(batch, size)``.

        Returns:
            ``(batch, size)``: 0 and 1, of any type.
        """

    def score(self, assignments: Tensor) -> Tensor:
        """Return the local scores of permitted assignments, differentiable; 0 unless overridden.

        Args:
            assignments: 0/1 ``(k, batch, size)``.

        Returns:
            ``(k, batch)``.
        """
        return assignments.new_zeros(assignments.shape[:2])

    def log_potential(self, assignments: Tensor) -> Tensor:
        certain = CERTAIN * (2 * assignments - 1)
        permitted = torch.stack(
            [(self.best(c) == a).all(-1) for c, a in zip(certain, assignments, strict=True)]
        )
        return torch.where(permitted, self.own(assignments), NEG_INF)

    def best(self, scores: Tensor) -> Tensor:
        """Return the result of `map`, checked, in the type of the scores.

        Raises:
            ValueError: If its shape differs from that of the scores, or it has values other than 0 and 1.
        """
        result = self.map(scores)
        if not isinstance(result, Tensor) or result.shape != scores.shape:
            given = (
                f"shape {tuple(result.shape)}" if isinstance(result, Tensor) else f"a {type(result).__name__}"
            )
            raise ValueError(
                f"map of {type(self).__name__} gave {given} for scores of shape {tuple(scores.shape)}; expected "
                "an assignment of the same shape"
            )
        result = result.to(scores)
        if not bool(((result == 0) | (result == 1)).all()):
            raise ValueError(f"map of {type(self).__name__} gave other numbers than 0 and 1")
        return result

    def own(self, assignments: Tensor) -> Tensor:
        """Return the result of `score`, checked.

        Raises:
            ValueError: If it is not one number for each assignment.
        """
        result = self.score(assignments)
        if not isinstance(result, Tensor) or result.shape != assignments.shape[:2]:
            given = (
                f"shape {tuple(result.shape)}" if isinstance(result, Tensor) else f"a {type(result).__name__}"
            )
            raise ValueError(
                f"score of {type(self).__name__} gave {given} for assignments of shape "
                f"{tuple(assignments.shape)}; expected {tuple(assignments.shape[:2])}"
            )
        return result.to(assignments.dtype)


def require_trailing(name: str, value: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the shape of a tensor is ``batch + shape``.

    Raises:
        ValueError: If it is not.
    """
    arguments.scores(name, value, f"batch + {shape}", 0)
    if value.dim() < len(shape) or tuple(value.shape[value.dim() - len(shape) :]) != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected batch + {shape}")
