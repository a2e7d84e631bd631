"""The arguments of operators of a recursion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor


class ArgumentsMixin:
    """Mix-in for methods that take the tensors of scores, lengths, and the structure's other arguments."""

    scores = 1
    """The number of tensors of scores."""

    def _split(self, arguments: Sequence[Any]) -> tuple[Sequence[Tensor], Tensor, Sequence[Any]]:
        """Return scores, lengths, and the other arguments."""
        return arguments[: self.scores], arguments[self.scores], arguments[self.scores + 1 :]

    def _split_both(
        self, arguments: Sequence[Any]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor], Tensor, Sequence[Any]]:
        """Return scores, other scores, lengths, and the other arguments."""
        return arguments[: self.scores], *self._split(arguments[self.scores :])
