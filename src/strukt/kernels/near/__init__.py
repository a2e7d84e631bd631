"""The form of `strukt.kernels.weighted_buckets` for pairs that are not distant, each distance for itself.

Its derivatives by W, A, B and w are functions of the other three and of the buckets; those of a device have the
same names in `reference` and `cpu`.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from strukt.kernels import dispatch
from strukt.kernels.distance_buckets import Buckets
from strukt.kernels.near import reference


def _backend(rows: Tensor) -> Any:
    return dispatch.select("near", rows) or reference


def _pairs(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    found: Tensor = _backend(left).pairs(left, right, weights, buckets)
    return found


def _left(pairs: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    found: Tensor = _backend(right).sums(pairs, right, weights, buckets, 1)
    return found


def _right(pairs: Tensor, left: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    found: Tensor = _backend(left).sums(pairs, left, weights, buckets, -1)
    return found


def _weights(pairs: Tensor, left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    found: Tensor = _backend(left).weights(pairs, left, right, buckets)
    return found


NEAR = (_pairs, _left, _right, _weights)
"""The derivatives, for `strukt.kernels.multilinear`."""
