"""Grammars as subjects of the conformance suite."""

from __future__ import annotations

from functools import partial
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
    """Return a grammar with span scores, which come first because they have the shape of the marginals."""
    return PCFG(root, rules, emission, spans=spans, **settings)


def _scores(
    generator: torch.Generator, batch: tuple[int, ...], size: int, per_item: bool
) -> tuple[Tensor, ...]:
    """Return the scores of a grammar for each item, or of one grammar for all of them."""
    grammars = batch if per_item else ()
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


def _low_rank_scores(
    generator: torch.Generator, batch: tuple[int, ...], size: int, per_item: bool
) -> tuple[Tensor, ...]:
    """Return the scores of a grammar for each item, or of one grammar for all of them."""
    grammars = batch if per_item else ()
    return (
        normal(generator, *batch, size + 1, size + 1, LABELS),
        normal(generator, *grammars, NONTERMINALS),
        normal(generator, *grammars, RANKS, LABELS),
        normal(generator, *grammars, RANKS, LABELS),
        normal(generator, *grammars, NONTERMINALS, RANKS),
        normal(generator, *batch, size, PRETERMINALS),
    )


GRAMMARS = (
    ("PCFG", _pcfg, brute_force.pcfg, _scores, {"spans": 3, "root": 1, "rules": 3, "emission": 2}),
    (
        "LowRankPCFG",
        _low_rank,
        brute_force.low_rank_pcfg,
        _low_rank_scores,
        {"spans": 3, "root": 1, "left": 2, "right": 2, "head": 2, "emission": 2},
    ),
)

SUBJECTS = tuple(
    Subject(f"{name}, {kind}", make, table, partial(scores, per_item=per_item), arguments, size=3, shortest=2)
    for name, make, table, scores, arguments in GRAMMARS
    for kind, per_item in (("shared grammar", False), ("grammar per item", True))
)
