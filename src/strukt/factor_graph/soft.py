"""What mean field needs of a factor: finite own scores, and their mean over independent variables."""

from __future__ import annotations

import abc

import numpy as np
import numpy.typing as npt
from torch import Tensor

Places = npt.NDArray[np.int64]


class Soft(abc.ABC):
    """A factor that forbids nothing, except that of each of its groups exactly one variable is 1.

    Probabilities are those of its variables ``(batch, size)``; variables of a group depend on each other, and on
    nothing else.
    """

    def groups(self) -> list[Places]:
        """The places of the variables of which exactly one is 1."""
        return []

    @abc.abstractmethod
    def cliques(self) -> list[Places]:
        """The places of variables that one term of the own score is over."""

    @abc.abstractmethod
    def expected(self, probabilities: Tensor) -> Tensor:
        """The mean of the own score, ``(batch,)``: linear in the probability of each variable or group."""

    @abc.abstractmethod
    def fields(self, probabilities: Tensor) -> Tensor:
        """The derivative of `expected` by each probability, ``(batch, size)``."""

    @abc.abstractmethod
    def is_finite(self) -> bool:
        """Whether no own score is -inf."""
