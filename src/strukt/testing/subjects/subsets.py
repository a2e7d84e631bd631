"""Distributions of subsets as subjects of the conformance suite."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from strukt.distributions import KDPP, KSubset
from strukt.testing import brute_force
from strukt.testing.brute_force import Table
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import draws

LOW = 2
"""The smallest size of the subsets, if a row of the batch is that long."""


def _make(
    scores: Tensor,
    omitted: Tensor | None = None,
    *,
    high: int,
    lengths: Tensor | None = None,
    validate_args: bool | None = None,
) -> KSubset:
    """Build the distribution; in a row of the batch shorter than `LOW`, all items must be taken."""
    k = (_smallest(lengths), high)
    return KSubset(scores, k, lengths, omitted, validate_args=validate_args)


def _make_exact(scores: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None) -> KSubset:
    return KSubset(scores, _smallest(lengths), lengths, validate_args=validate_args)


def _smallest(lengths: Tensor | None) -> int | Tensor:
    """Return the smallest size of a subset: `LOW`, or the length of a shorter row of the batch."""
    return LOW if lengths is None else lengths.clamp(max=LOW)


def _enumerate(length: int, *scores: Tensor, high: int) -> Table:
    return brute_force.k_subset(length, *scores, low=min(LOW, length), high=high)


def _make_dpp(scores: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None) -> KDPP:
    dtype = torch.promote_types(scores.real.dtype, torch.float32)
    kernel = _kernel(scores.shape[-1:].numel()).to(scores.device, dtype)
    return KDPP(kernel, _smallest(lengths), lengths, scores, validate_args=validate_args)


def _enumerate_dpp(length: int, scores: Tensor) -> Table:
    return brute_force.k_dpp(length, scores, _kernel(len(scores)), k=min(LOW, length))


def _kernel(n: int) -> Tensor:
    """Return the kernel of n points on a line, in which near points are similar.

    The kernel of fewer points is its upper left corner.
    """
    place = torch.arange(n, dtype=torch.float64)
    return 0.6 ** (place - place.unsqueeze(-1)).abs()


_SCORES = draws(lambda n: (n,))

SUBJECTS = (
    Subject(
        "KDPP",
        _make_dpp,
        _enumerate_dpp,
        _SCORES,
        {"scores": 1},
        size=6,
        lacks=frozenset({"rsample_relaxed"}),
        free=frozenset({"scores"}),
    ),
    Subject(
        "KSubset",
        _make_exact,
        partial(_enumerate, high=LOW),
        _SCORES,
        {"scores": 1},
        size=5,
        free=frozenset({"scores"}),
    ),
    Subject(
        "KSubset, a range of sizes",
        partial(_make, high=3),
        partial(_enumerate, high=3),
        _SCORES,
        {"scores": 1},
        free=frozenset({"scores"}),
    ),
    Subject(
        "KSubset, shared scores of omission",
        partial(_make, high=3),
        partial(_enumerate, high=3),
        draws(lambda n: (n,), shared=[lambda n: (n,)]),
        {"scores": 1, "omitted": 1},
    ),
)
