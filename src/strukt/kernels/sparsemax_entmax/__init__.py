"""Maps of rows of scores to the simplex: entmax, including softmax and sparsemax, and normmax."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.autograd import call
from strukt.kernels.functions import map_function
from strukt.kernels.operator import operator
from strukt.kernels.sparsemax_entmax import derivatives, reference
from strukt.kernels.sparsemax_entmax.gain import gain, residual, residual_product, slope


def _map(
    name: str,
    compute: Callable[[Tensor, Tensor], Tensor],
    pull: Callable[..., Tensor],
    sensitivity: Callable[..., Tensor],
    nested: bool = True,
) -> Callable[[Tensor, Tensor], Tensor]:
    """Define the operator of a map, and return its differentiable function of scores and alpha.

    The arguments ``pull``, ``sensitivity`` and ``nested`` are those of `map_function`.
    """
    schema = "(Tensor scores, Tensor alpha) -> Tensor"
    result = operator(__package__, name, schema, compute, lambda scores, alpha: torch.empty_like(scores))
    function = map_function(result, pull, sensitivity, nested)
    return lambda scores, alpha: call(function, scores, alpha)


entmax = _map("entmax", reference.entmax, derivatives.entmax_pull, derivatives.entmax_sensitivity)
"""Map scores ``(rows, d)``, for alpha ``(rows,)`` above 0, to probabilities; rows of only -inf become zeros."""

normmax = _map(
    "normmax", reference.normmax, derivatives.normmax_pull, derivatives.normmax_sensitivity, nested=False
)
"""Map scores ``(rows, d)``, for alpha ``(rows,)`` above 1, to probabilities; rows of only -inf become zeros."""

__all__ = ["entmax", "gain", "normmax", "residual", "residual_product", "slope"]
