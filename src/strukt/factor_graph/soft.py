"""Soft factors, for mean field: factors with finite local scores, and their means over independent variables."""

from __future__ import annotations

import abc

import numpy as np
import numpy.typing as npt
from torch import Tensor

Places = npt.NDArray[np.int64]


class Soft(abc.ABC):
    """A factor that forbids nothing, except that exactly one variable of each group is 1.

    Methods take the probabilities ``(batch, size)`` that variables are 1. Groups, and variables outside any group,
    are independent.
    """

    def groups(self) -> list[Places]:
        """Return the indices of the variables of each group; exactly one variable of a group is 1."""
        return []

    @abc.abstractmethod
    def cliques(self) -> list[Places]:
        """Return the indices of the variables of each term of the local score."""

    @abc.abstractmethod
    def expected(self, probabilities: Tensor) -> Tensor:
        """Return the mean local score, ``(batch,)``, linear in the probabilities of each variable or group."""

    @abc.abstractmethod
    def fields(self, probabilities: Tensor) -> Tensor:
        """Return the derivative of `expected` with respect to each probability, ``(batch, size)``."""

    @abc.abstractmethod
    def is_finite(self) -> bool:
        """Return True if no local score is -inf."""
