"""Laws of an item whose structures are all forbidden: defined results, zero derivatives, unchanged other items."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from strukt.errors import InfeasibleError
from strukt.testing.comparison import demand, derivatives, derivatives_agree
from strukt.testing.law import law
from strukt.testing.operators import operators, random_arguments, rival
from strukt.testing.patterns import leave_none
from strukt.testing.subject import INFEASIBLE_ITEMS, Case, Subject

INFEASIBLE = 1
"""The index of the item whose structures are all forbidden."""

NEIGHBOURS = [0, 2]
"""The indices of all other items."""


@law(INFEASIBLE_ITEMS, "log_partition", "marginals", "max_score", "log_count")
def infeasible_item_has_weight_zero(subject: Subject) -> None:
    """Check that log-partition, best score, log-count and max-marginals are -inf, and marginals 0."""
    case = _cases(subject)[1]
    distribution = case.distribution()
    for name in ("log_partition", "max_score", "log_count", "max_marginals"):
        is_infinite = (getattr(distribution, name)[INFEASIBLE] == -math.inf).all()
        demand(is_infinite, case, f"{name} of an infeasible item is -inf")
    demand((distribution.marginals[INFEASIBLE] == 0).all(), case, "marginals of an infeasible item are exactly 0")


@law(INFEASIBLE_ITEMS)
def infeasible_item_has_zero_derivatives(subject: Subject) -> None:
    """Check that derivatives of smooth operators but `score` are 0 to second order, and right for other items.

    Those of `cross_entropy` are checked in both distributions.
    """
    clean, infeasible = (case.leaves() for case in _cases(subject))
    others = rival(clean).leaves()
    arguments = replace(random_arguments(clean), other=others.distribution())
    for operator in operators(clean):
        read = others.scores if operator.reads == "other" else []
        value, expected = (operator.of(case.distribution(), arguments) for case in (infeasible, clean))
        defined, right = not value.isnan().any(), torch.allclose(value[NEIGHBOURS], expected[NEIGHBOURS])
        demand(defined, infeasible, f"{operator.name} of a batch with an infeasible item is never NaN")
        demand(right, infeasible, f"{operator.name} of its neighbours is right")
        if operator.smooth and operator.name != "score":
            true = derivatives(expected[NEIGHBOURS].sum(), [*clean.scores, *read])
            actual = derivatives(value.sum(), [*infeasible.scores, *read])
            derivatives_agree(infeasible, f"{operator.name} with an infeasible item", actual, true)


@law(INFEASIBLE_ITEMS, "mode", "sample", "topk")
def infeasible_item_has_no_event(subject: Subject) -> None:
    """Check that `mode`, `sample` and `mbr` raise InfeasibleError; `topk` returns scores of -inf, events of -1."""
    clean, case = _cases(subject)
    distribution = case.distribution()
    members: dict[str, Callable[[], Any]] = {
        "mode": lambda: distribution.mode,
        "sample": distribution.sample,
        "mbr": lambda: distribution.mbr,
    }
    for name, member in members.items():
        named = f"{INFEASIBLE}" in _refusal(member)
        demand(named, case, f"{name} raises InfeasibleError that names item {INFEASIBLE}")
    best = distribution.topk(3)
    scores, events = best
    demand((scores[INFEASIBLE] == -math.inf).all(), case, "topk scores of an infeasible item are -inf")
    demand((events[INFEASIBLE] == -1).all(), case, "topk events of an infeasible item are -1")
    if "log_partition" not in subject.lacks:
        demand((best.probs[INFEASIBLE] == 0).all(), case, "topk probabilities of an infeasible item are 0")
    right = torch.equal(events[NEIGHBOURS], clean.distribution().topk(3)[1][NEIGHBOURS])
    demand(right, case, "topk of its neighbours is right")


def _cases(subject: Subject) -> tuple[Case, Case]:
    """Return a batch, and the same batch with no structure left in one item."""
    case = subject.case((3,), lengths=[subject.size, subject.size - 1, 2])
    return case, leave_none(case, (INFEASIBLE,))


def _refusal(member: Callable[[], Any]) -> str:
    """Return the message of the InfeasibleError that a member raises; empty if it raises none."""
    try:
        member()
    except InfeasibleError as error:
        return str(error)
    return ""
