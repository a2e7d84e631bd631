"""Distributions of binary variables as subjects of the conformance suite."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from strukt.distributions import BinaryCRF
from strukt.testing import brute_force
from strukt.testing.subject import ALWAYS_FEASIBLE, Subject
from strukt.testing.subjects.scores import draws, normal

ARGUMENTS = {"unary": 1, "pairwise": 2}


def _scores(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    """Return normal scores of variables, and symmetric scores of pairs for each item."""
    pairwise = normal(generator, *batch, size, size)
    return normal(generator, *batch, size), pairwise + pairwise.mT


def _first_required(unary: Tensor, *others: Any, **options: Any) -> BinaryCRF:
    """Return a CRF under the condition that the first variable is 1."""
    crf = BinaryCRF(unary, *others, **options)
    first = torch.zeros_like(unary, dtype=torch.bool)
    first[..., 0] = True
    conditioned = crf.condition(required=first)
    conditioned._validate_args = crf._validate_args
    return conditioned


_SHARED = draws(lambda n: (n,), shared=[lambda n: (n, n)])

SUBJECTS = (
    *(
        Subject(name, BinaryCRF, brute_force.binary, draw, ARGUMENTS, lacks=ALWAYS_FEASIBLE)
        for name, draw in (("BinaryCRF, pairs per item", _scores), ("BinaryCRF, shared pairs", _SHARED))
    ),
    Subject(
        "BinaryCRF, first variable required",
        _first_required,
        partial(brute_force.binary, required=(0,)),
        _scores,
        ARGUMENTS,
    ),
)
