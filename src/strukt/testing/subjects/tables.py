"""User-defined structures, written as table programs, as subjects of the conformance suite."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.distributions import TableStructure
from strukt.kernels.engine.program import Program, ProgramBuilder
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import normal


def foldings(n: int) -> Program:
    """Return the program of pairing n bases without crossing pairs (Nussinov and Jacobson 1980)."""
    p = ProgramBuilder()
    j, k = np.indices((n, n))
    alone = p.scattered(np.arange(n))
    pair = p.scattered(np.where(k < j, j * n + k, -1))
    fold, mirror, ways = p.cells(n + 1, n + 1), p.cells(n + 1, n + 1), p.cells(n + 1, n + 1, 2)
    post = np.arange(n + 1)
    p.leaf(fold[post, post], mirror[post, post])
    i, j = np.triu_indices(n + 1, 1)
    p.sum(ways[i, j, 0], fold[i, j - 1], weight=alone[j - 1], stage=2 * (j - i))
    p.sum(fold[i, j], ways[i, j, 0], count=2, mirror=mirror[j, i], stage=2 * (j - i) + 1)
    i, j = np.triu_indices(n + 1, 2)
    p.sum(
        ways[i, j, 1],
        fold[i, i],
        mirror[j - 1, i + 1],
        count=j - i - 1,
        each=pair[j - 1, i],
        stage=2 * (j - i),
    )
    return p.build(fold[0, 1:])


PROGRAMS = {10: foldings(4)}
"""The programs by number of weights, built with the scores: ``torch.compile`` cannot trace their construction."""


def _make(scores: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None) -> TableStructure:
    weights = scores.shape[-1] if isinstance(scores, Tensor) and scores.dim() else 0
    return TableStructure(PROGRAMS.get(weights, PROGRAMS[10]), scores, lengths, validate_args)


def _scores(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    """Return normal weights for `size` bases and their pairs, and build the program for them if it is new."""
    weights = size * (size + 1) // 2
    if weights not in PROGRAMS:
        PROGRAMS[weights] = foldings(size)
    return (normal(generator, *batch, weights),)


SUBJECTS = (
    Subject(
        "TableStructure",
        _make,
        brute_force.folding,
        _scores,
        {"scores": 1},
        lacks=frozenset({"condition", "partial_log_prob", "sample_without_replacement"}),
    ),
)
