"""Proximal maps that make close scores equal: neighbours only (total variation), or any (OSCAR)."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import call
from strukt.kernels.functions import map_function
from strukt.kernels.fusedmax_oscarmax import derivatives, prox
from strukt.kernels.operator import operator

_SCHEMA = "(Tensor scores, Tensor weight) -> Tensor"


def _fake(scores: Tensor, weight: Tensor) -> Tensor:
    return torch.empty_like(scores)


_VARIATION = map_function(
    operator(__package__, "variation", _SCHEMA, prox.variation, _fake),
    derivatives.variation_pull,
    derivatives.variation_sensitivity,
)
_OSCAR = map_function(
    operator(__package__, "oscar", _SCHEMA, prox.oscar, _fake),
    derivatives.oscar_pull,
    derivatives.oscar_sensitivity,
)


def variation(scores: Tensor, weight: Tensor) -> Tensor:
    """Return the minimiser z of ``|z - x|^2 / 2 + weight sum_j |z_j - z_{j-1}|``, shifted to a maximum of 0.

    ``scores``, x in the formula, are ``(rows, d)``, and weights ``(rows,)``. A score of -inf stays, and separates
    the scores before and after it; NaN or +inf makes its row NaN. The derivatives are those of z without the
    shift; they suit functions that are invariant to shifts of a row, such as sparsemax.
    """
    return call(_VARIATION, scores, weight)  # type: ignore[no-any-return]


def oscar(scores: Tensor, weight: Tensor) -> Tensor:
    """Return the minimiser z of ``|z - x|^2 / 2 + weight sum_{i<j} max(z_i, z_j)``, shifted to a maximum of 0.

    The arguments are those of `variation`, and derivatives are again those of z without the shift. Scores of -inf
    are left out of the sum.
    """
    return call(_OSCAR, scores, weight)  # type: ignore[no-any-return]


__all__ = ["oscar", "variation"]
