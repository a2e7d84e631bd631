"""Every structure, small enough to enumerate and long, and every member that returns tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from strukt.distributions import (
    CTC,
    PCFG,
    KSubset,
    LinearChain,
    LowRankPCFG,
    MonotoneAlignment,
    NonProjectiveTree,
    ProjectiveTree,
    SemiMarkov,
    SpanningTree,
    SpanTree,
    Transducer,
)
from strukt.testing import Case
from strukt.testing.operators import OperatorArguments, operators

Member = Callable[[Any, OperatorArguments], Tensor]

EVENTS: dict[str, Member] = {
    "mode": lambda d, _: d.mode,
    "mbr": lambda d, _: d.mbr,
    "topk events": lambda d, _: d.topk(3)[1],
    "sample": lambda d, _: d.sample((2,)),
    "sample_without_replacement": lambda d, _: d.sample_without_replacement(2),
    "perturb_and_map": lambda d, _: d.perturb_and_map((2,)),
}

RELAXATIONS: dict[str, Member] = {
    "rsample_relaxed": lambda d, _: d.rsample_relaxed(0.7),
    "rsample_implicit": lambda d, _: d.rsample_implicit(0.7),
    "sparsemap": lambda d, _: d.sparsemap().marginals,
}

OWN = ("transition_marginals", "rule_marginals", "root_marginals", "pairwise_marginals", "bit_marginals")
"""Members of some structures only."""


def own(distribution: Any) -> dict[str, Member]:
    """The marginals that the distribution has besides those of its main parts."""
    return {name: (lambda d, _, name=name: getattr(d, name)) for name in OWN if hasattr(distribution, name)}


def members(case: Case) -> dict[str, Member]:
    """Every member of the case's distribution that returns a tensor; those that draw do so after the same seed."""
    found = {operator.name: operator.of for operator in operators(case)} | EVENTS | RELAXATIONS
    found |= own(case.distribution())
    return {name: partial(_seeded, of) for name, of in found.items() if name not in case.subject.lacks}


def _seeded(of: Member, distribution: Any, asked: OperatorArguments) -> Tensor:
    torch.manual_seed(0)
    return of(distribution, asked)


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Independent standard normal numbers in single precision."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


TARGETS = torch.arange(40) % 11 + 1

LONG: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "LinearChain": (LinearChain, ((1000, 16), (16, 16))),
    "SemiMarkov": (SemiMarkov, ((400, 6, 5), (5, 5))),
    "ProjectiveTree": (ProjectiveTree, ((40, 41),)),
    "NonProjectiveTree": (NonProjectiveTree, ((40, 41),)),
    "SpanTree": (partial(SpanTree, labelled=True), ((41, 41, 3),)),
    "PCFG": (PCFG, ((4,), (4, 10, 10), (25, 6))),
    "LowRankPCFG": (LowRankPCFG, ((4,), (5, 10), (5, 10), (4, 5), (25, 6))),
    "CTC": (partial(CTC, targets=TARGETS), ((400, 12),)),
    "MonotoneAlignment": (MonotoneAlignment.from_moves, ((60, 50, 3), (3, 3))),
    "Transducer": (Transducer, ((60, 31, 2),)),
    "KSubset": (partial(KSubset, k=40), ((200,),)),
    "SpanningTree": (SpanningTree, ((30, 30),)),
}
"""How to build an input too long to enumerate, and the shapes of its scores."""

LONG_NAMES = pytest.mark.parametrize("name", LONG)


def long_scores(name: str, scale: float = 1.0, offset: float = 0.0) -> list[Tensor]:
    """Random scores in single precision; the offset is added to the main ones."""
    scores = [scale * normal(*shape, seed=seed) for seed, shape in enumerate(LONG[name][1])]
    return [scores[0] + offset, *scores[1:]]
