"""Max-marginals of structures whose recursion is a table."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels.autograd import as_tuple, asks_for_gradient, is_plain


def max_marginals(structure: Any) -> Tensor | None:
    """Return those that the structure's kernel finds; None where there is none, or a gradient is asked for."""
    if not is_plain() or asks_for_gradient(structure.scores):
        return None
    arguments = structure._arguments()
    compute = structure.oracles.max_marginals(*arguments)
    if compute is None:
        return None
    found: Tensor = structure._to_batch(as_tuple(compute(*arguments))[0])
    return found
