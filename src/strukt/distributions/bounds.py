"""Max-marginals of structures whose recursion is a table."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels.autograd import as_tuple, asks_for_gradient, is_plain


def max_marginals(structure: Any) -> Tensor | None:
    """Return those that the structure's kernel finds; None where there is none, or a gradient is asked for."""
    if not is_plain() or asks_for_gradient(structure.scores):
        return None
    compute = structure.oracles.max_marginals(structure.scores[0])
    if compute is None:
        return None
    found: Tensor = structure._to_batch(as_tuple(compute(*structure._arguments()))[0])
    return found
