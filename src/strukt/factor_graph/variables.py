"""Arrays of binary variables of a factor graph, indexed like NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

VariablesLike: TypeAlias = Union["Variables", "Sequence[VariablesLike]", npt.NDArray[np.object_]]
"""`Variables`, or nested lists or object arrays of them."""


class Variables:
    """An array of binary variables, possibly negated; create one by ``FactorGraph.variables``.

    Indexing works as in NumPy, and returns the same variables of the graph, not new ones. ``~x`` negates
    variables: for a factor over ``~x``, their values are 1 - x.

    Args:
        owner: The graph.
        index: The index of each variable among all variables of the graph, in any shape.
        negated: Mask of the negated variables, in the shape of ``index``.

    Examples:
        >>> from strukt import FactorGraph
        >>> x = FactorGraph().variables(2, 3)
        >>> x.shape, x[:, 0].shape, x.T[1:].flatten().shape, len(~x)
        ((2, 3), (2,), (4,), 2)
    """

    def __init__(self, owner: object, index: npt.NDArray[np.int64], negated: npt.NDArray[np.bool_]) -> None:
        self.owner = owner
        self.index = index
        self.negated = negated

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.index.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.index.ndim

    @property
    def size(self) -> int:
        """The number of variables."""
        return self.index.size

    @property
    def T(self) -> Variables:  # noqa: N802
        """The variables with the axes in reverse order."""
        return Variables(self.owner, self.index.T, self.negated.T)

    def reshape(self, *shape: Any) -> Variables:
        """Return the variables in another shape, like NumPy's ``reshape``."""
        return Variables(self.owner, self.index.reshape(*shape), self.negated.reshape(*shape))

    def flatten(self) -> Variables:
        """Return the variables along one axis."""
        return self.reshape(-1)

    def __getitem__(self, key: Any) -> Variables:
        return Variables(self.owner, np.asarray(self.index[key]), np.asarray(self.negated[key]))

    def __invert__(self) -> Variables:
        return Variables(self.owner, self.index, ~self.negated)

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Variables]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        return f"Variables(shape={self.shape})"


def concatenate(parts: Sequence[Variables], axis: int = 0) -> Variables:
    """Concatenate arrays of variables of one graph along an axis.

    Args:
        parts: The arrays, of equal shapes except along ``axis``.
        axis: The axis along which to join them.

    Raises:
        ValueError: If there are no arrays, they belong to different graphs, or their shapes do not fit.

    Examples:
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> concatenate([graph.variables(3), ~graph.variables(2)]).shape
        (5,)
    """
    owner = _owner(parts, "parts")
    index = np.concatenate([part.index for part in parts], axis)
    return Variables(owner, index, np.concatenate([part.negated for part in parts], axis))


def collect(value: VariablesLike, name: str) -> Variables:
    """Return variables, or nested lists or arrays of them, as one array.

    Parts of equal shapes are stacked; others are flattened and concatenated.

    Args:
        value: The variables.
        name: The name of the argument in error messages.

    Raises:
        ValueError: If ``value`` is empty, or holds anything else or variables of different graphs.
    """
    if isinstance(value, Variables):
        return value
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim:
        value = list(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(
            f"{name} is a {type(value).__name__}; expected Variables of a graph, or a list of them"
        )
    parts = [collect(part, name) for part in value]
    owner = _owner(parts, name)
    if len({part.shape for part in parts}) == 1:
        stacked = np.stack([part.index for part in parts])
        return Variables(owner, stacked, np.stack([part.negated for part in parts]))
    return concatenate([part.flatten() for part in parts])


def _owner(parts: Sequence[Variables], name: str) -> object:
    """Return the graph to which all parts belong; raise ValueError unless there is exactly one."""
    if not parts:
        raise ValueError(f"{name} is empty; expected Variables of a graph, or a list of them")
    for part in parts:
        if not isinstance(part, Variables):
            raise ValueError(f"{name} holds a {type(part).__name__}; expected Variables of a graph")
        if part.owner is not parts[0].owner:
            raise ValueError(f"{name} holds variables of different graphs; expected variables of one graph")
    return parts[0].owner
