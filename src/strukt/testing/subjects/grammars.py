"""Grammars as subjects of the conformance suite."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.distributions import PCFG, LowRankPCFG
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import normal

NONTERMINALS, PRETERMINALS, RANKS = 2, 2, 2
LABELS = NONTERMINALS + PRETERMINALS


def _pcfg(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, **settings: Any) -> PCFG:
    return PCFG(root, rules, emission, spans=spans, **settings)


def _shared(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, ...]:
    return _scores(generator, batch, (), size)


def _per_item(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, ...]:
    return _scores(generator, batch, batch, size)


def _scores(
    generator: torch.Generator, batch: tuple[int, ...], grammars: tuple[int, ...], size: int
) -> tuple[Tensor, ...]:
    return (
        normal(generator, *batch, size + 1, size + 1, LABELS),
        normal(generator, *grammars, NONTERMINALS),
        normal(generator, *grammars, NONTERMINALS, LABELS, LABELS),
        normal(generator, *batch, size, PRETERMINALS),
    )


def _low_rank(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, **settings: Any
) -> LowRankPCFG:
    return LowRankPCFG(root, left, right, head, emission, spans=spans, **settings)


def _low_rank_shared(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, ...]:
    return _low_rank_scores(generator, batch, (), size)


def _low_rank_per_item(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, ...]:
    return _low_rank_scores(generator, batch, batch, size)


def _low_rank_scores(
    generator: torch.Generator, batch: tuple[int, ...], grammars: tuple[int, ...], size: int
) -> tuple[Tensor, ...]:
    return (
        normal(generator, *batch, size + 1, size + 1, LABELS),
        normal(generator, *grammars, NONTERMINALS),
        normal(generator, *grammars, RANKS, LABELS),
        normal(generator, *grammars, RANKS, LABELS),
        normal(generator, *grammars, NONTERMINALS, RANKS),
        normal(generator, *batch, size, PRETERMINALS),
    )


ARGUMENTS = {"spans": 3, "root": 1, "rules": 3, "emission": 2}
LOW_RANK_ARGUMENTS = {"spans": 3, "root": 1, "left": 2, "right": 2, "head": 2, "emission": 2}

SUBJECTS = (
    Subject("PCFG, shared grammar", _pcfg, brute_force.pcfg, _shared, ARGUMENTS, size=3, shortest=2),
    Subject("PCFG, grammar per item", _pcfg, brute_force.pcfg, _per_item, ARGUMENTS, size=3, shortest=2),
    Subject(
        "LowRankPCFG, shared grammar",
        _low_rank,
        brute_force.low_rank_pcfg,
        _low_rank_shared,
        LOW_RANK_ARGUMENTS,
        size=3,
        shortest=2,
    ),
    Subject(
        "LowRankPCFG, grammar per item",
        _low_rank,
        brute_force.low_rank_pcfg,
        _low_rank_per_item,
        LOW_RANK_ARGUMENTS,
        size=3,
        shortest=2,
    ),
)
