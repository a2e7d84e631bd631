"""The arguments that questions about a recursion come with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor


class Asked:
    """Methods that take the tensors of scores, lengths, and the structure's other arguments, in this order."""

    scores = 1
    """The number of tensors of scores."""

    def _split(self, arguments: Sequence[Any]) -> tuple[Sequence[Tensor], Tensor, Sequence[Any]]:
        """Scores, lengths, and the rest."""
        return arguments[: self.scores], arguments[self.scores], arguments[self.scores + 1 :]

    def _split_both(
        self, arguments: Sequence[Any]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor], Tensor, Sequence[Any]]:
        """Scores, other scores, lengths, and the rest."""
        return arguments[: self.scores], *self._split(arguments[self.scores :])
