"""Extended numbers: doubles with an exponent of any size, for sums of products in compiled kernels.

A number is ``mantissa * 2**(512 * rank)`` with a mantissa from 2**-256 to 2**256 and an integer rank, stored as a
double. The rank of zero is -inf, with any finite mantissa. Products and sums take a few vectorised operations,
while log space needs exponentials and logarithms. Nothing underflows, so no fallback is needed.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.elementary import exp
from strukt.kernels.jit import kernel

UP, DOWN = 2.0**512, 2.0**-512
HIGH, LOW = 2.0**256, 2.0**-256
LOG_UP = 354.891356446692
"""The log of one step in rank."""


@kernel
def from_log(log: float) -> tuple[float, float]:
    """Return the mantissa and the rank of the number with this log."""
    finite = log if log > -np.inf else 0.0
    rank = np.floor(finite * (1.0 / LOG_UP) + 0.5)
    rest = min(
        max(finite - rank * LOG_UP, -177.5), 177.5
    )  # clipping matters only from 1e16 on, where doubles are too coarse
    return exp(rest), rank if log > -np.inf else -np.inf


@kernel
def to_log(mantissa: float, rank: float) -> float:
    """Return the log of a number; -inf for zero."""
    return np.log(mantissa) + rank * LOG_UP if rank > -np.inf else -np.inf


@kernel
def at_rank(mantissa: float, rank: float, top: float) -> float:
    """Return the mantissa of a term in a sum of rank ``top``, 0 if its own rank is lower by 2 or more.

    The rounding error is below 2**-512 of the sum.
    """
    return mantissa * (1.0 if rank == top else (DOWN if rank == top - 1.0 else 0.0))


@kernel
def settled(mantissa: float, rank: float) -> tuple[float, float]:
    """Return a number with its mantissa brought into range.

    The mantissa is a product of two in range, or of one and a short sum. The rank changes by at most 1.
    """
    factor = DOWN if mantissa > HIGH else (UP if mantissa < LOW else 1.0)
    change = 1.0 if mantissa > HIGH else (-1.0 if mantissa < LOW else 0.0)
    return mantissa * factor, rank + change


@kernel
def share(mantissa: float, rank: float, total: float, total_rank: float) -> float:
    """Return the share, from 0 to 1, of a product of two numbers in a total at least as large.

    The product is not `settled`; the total is.
    """
    above = rank - total_rank
    factor = 1.0 if above == 0.0 else (DOWN if above == -1.0 else (UP if above == 1.0 else 0.0))
    return mantissa / total * factor
