"""Checks of arguments: shapes, types and devices, with errors that name the remedy."""

from strukt.checks.arguments.events import event, sample_shape, several
from strukt.checks.arguments.integer_tensors import (
    blank,
    integers,
    is_integer,
    lengths,
    mask,
    positive_integer,
)
from strukt.checks.arguments.score_tensors import (
    are_ordinary,
    batched,
    common_dtype,
    not_lengths,
    scores,
    without_extremes,
)
from strukt.checks.arguments.shapes import any_of, broadcast_shapes, fitting

__all__ = [
    "any_of",
    "are_ordinary",
    "batched",
    "blank",
    "broadcast_shapes",
    "common_dtype",
    "event",
    "fitting",
    "integers",
    "is_integer",
    "lengths",
    "mask",
    "not_lengths",
    "positive_integer",
    "sample_shape",
    "scores",
    "several",
    "without_extremes",
]
