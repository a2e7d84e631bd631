"""Numbers of double precision with an exponent of any size, for sums of products in compiled kernels.

A number is ``mantissa * 2**(512 * rank)`` with a mantissa from 2**-256 to 2**256 and a rank that is a whole number
in a double. The rank of zero is -inf, whatever finite mantissa it has. Products and sums take few operations that
run in vectors, where log space takes exponentials and logs; and nothing underflows, so that there is no other case
to fall back to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.elementary import exp
from strukt.kernels.jit import kernel

Array = npt.NDArray[Any]
UP, DOWN = 2.0**512, 2.0**-512
HIGH, LOW = 2.0**256, 2.0**-256
LOG_UP = 354.891356446692
"""The log of a step in rank."""


@kernel
def from_log(log: float) -> tuple[float, float]:
    """The mantissa and the rank of the number of which this is the log."""
    finite = log if log > -np.inf else 0.0
    rank = np.floor(finite * (1.0 / LOG_UP) + 0.5)
    rest = min(
        max(finite - rank * LOG_UP, -177.5), 177.5
    )  # beyond only where a double has lost it, from 1e16 on
    return exp(rest), rank if log > -np.inf else -np.inf


@kernel
def to_log(mantissa: float, rank: float) -> float:
    """The log of a number; -inf for zero."""
    return np.log(mantissa) + rank * LOG_UP if rank > -np.inf else -np.inf


@kernel
def at_rank(mantissa: float, rank: float, top: float) -> float:
    """The mantissa that a term has in a sum of rank ``top``; what is lost is below 2**-512 of the sum."""
    return mantissa * (1.0 if rank == top else (DOWN if rank == top - 1.0 else 0.0))


@kernel
def settled(mantissa: float, rank: float) -> tuple[float, float]:
    """A product of two numbers, or of a number and a sum of few, with the mantissa in its range again."""
    factor = DOWN if mantissa > HIGH else (UP if mantissa < LOW else 1.0)
    change = 1.0 if mantissa > HIGH else (-1.0 if mantissa < LOW else 0.0)
    return mantissa * factor, rank + change


@kernel
def share(mantissa: float, rank: float, total: float, total_rank: float) -> float:
    """A product of two numbers, not settled, as a part of a total that it does not exceed: from 0 to 1."""
    above = rank - total_rank
    factor = 1.0 if above == 0.0 else (DOWN if above == -1.0 else (UP if above == 1.0 else 0.0))
    return mantissa / total * factor
