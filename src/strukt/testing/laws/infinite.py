"""Laws of infinite values: a cross-entropy, divergence or log-probability that is infinite is a constant.

The derivatives of its item are 0, whatever a loss does with the value, and those of shared scores stay right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributions import kl_divergence

from strukt.testing.comparison import demand, derivatives, derivatives_agree
from strukt.testing.law import law
from strukt.testing.operators import random_arguments, rival
from strukt.testing.patterns import fill, leave_none, leave_one
from strukt.testing.subject import INFEASIBLE_ITEMS, Case, Subject

INFINITE = 1
"""The index of the item whose value is infinite."""

NEIGHBOURS = [0, 2]
"""The indices of all other items."""

LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "the sum of the others": lambda value: value[NEIGHBOURS].sum(),
    "the sum of finite items": lambda value: torch.where(value.isfinite(), value, 0.0).sum(),
    "the sum": lambda value: value.sum(),
}

DIVERGENCES: dict[str, Callable[[Any, Any], Tensor]] = {
    "cross_entropy": lambda p, q: p.cross_entropy(q),
    "kl_divergence": kl_divergence,
}


@law("entropy", "cross_entropy")
def infinite_divergence_has_zero_derivatives(subject: Subject) -> None:
    """Check cross-entropy and divergence if the second distribution forbids some or all structures of an item."""
    p = _case(subject)
    q = rival(p)
    others = [_in_one_item(q, leave_one(q))]
    if INFEASIBLE_ITEMS not in subject.lacks:
        others.append(leave_none(q, (INFINITE,)))
    for other in others:
        for name, divergence in DIVERGENCES.items():
            _check(name, lambda p, q, of=divergence: of(p.distribution(), q.distribution()), (p, q), (p, other))


@law("log_prob", "partial_log_prob")
def infinite_log_prob_has_zero_derivatives(subject: Subject) -> None:
    """Check the log-probability of an event with a forbidden part, also as an observation of all its entries."""
    case = _case(subject)
    arguments = random_arguments(case)
    used, *others = (torch.zeros_like(score, dtype=torch.bool) for score in case.scores)
    used[INFINITE] = arguments.required[INFINITE]
    infinite = fill(case, [used, *others], -torch.inf)
    event, known = arguments.event, torch.ones_like(arguments.known)
    if used.any():
        _check("log_prob", lambda p: p.distribution().log_prob(event), (case,), (infinite,))
        _check("partial_log_prob", lambda p: p.distribution().partial_log_prob(event, known), (case,), (infinite,))


def _case(subject: Subject) -> Case:
    return subject.case((3,), lengths=[subject.size, subject.size - 1, 2])


def _in_one_item(case: Case, changed: Case) -> Case:
    """Return the case with the main scores of another one in the item that becomes infinite."""
    main, *others = case.scores
    main = main.clone()
    main[INFINITE] = changed.scores[0][INFINITE]
    return case.with_scores([main, *others])


def _check(
    name: str, operator: Callable[..., Tensor], clean: tuple[Case, ...], infinite: tuple[Case, ...]
) -> None:
    """Check values and derivatives of a batch with an infinite item against those of a batch without one.

    Args:
        name: The name of the operator.
        operator: A function of the cases to values ``(3,)``.
        clean: The cases, with finite values only.
        infinite: The same cases, with an infinite value of item `INFINITE`.
    """
    clean, infinite = tuple(case.leaves() for case in clean), tuple(case.leaves() for case in infinite)
    value, expected = operator(*infinite), operator(*clean)
    demand(value[INFINITE].isinf(), infinite[0], f"{name} is infinite in an item that the scores forbid")
    right = torch.allclose(value[NEIGHBOURS], expected[NEIGHBOURS])
    demand(right, infinite[0], f"{name} of its neighbours is right")
    true = derivatives(expected[NEIGHBOURS].sum(), _scores(clean))
    for title, loss in LOSSES.items():
        actual = derivatives(loss(value), _scores(infinite))
        derivatives_agree(infinite[0], f"{name} with an infinite item, in {title}", actual, true)


def _scores(cases: tuple[Case, ...]) -> list[Tensor]:
    return [score for case in cases for score in case.scores]
