"""Laws of SparseMAP: the point of the marginal polytope nearest to the scores."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.autograd import gradcheck

from strukt.testing.brute_force import Table
from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.patterns import forbid_at_random, tied
from strukt.testing.subject import Case, Subject


@law("sparsemap")
def sparsemap_is_optimal(subject: Subject) -> None:
    """Check that the result is a convex combination of few structures, and optimal.

    The objective <scores, mu> - |mu|^2 / 2 is concave, so a point is optimal if and only if no structure has a
    larger inner product with the gradient than the point itself, that is, if the duality gap of Frank and Wolfe is
    0.
    """
    for case in (subject.case(()), *(weak for seed in range(6) for weak in _weakly_scored(subject, seed))):
        result = case.distribution().sparsemap()
        for index, table in zip(case.indices, case.tables, strict=True):
            weights, events = result.weights[index], result.events[index]
            _check_item(case.item(index), table.permitted, weights, events, result.marginals[index])


@law("sparsemap")
def sparsemap_is_differentiable(subject: Subject) -> None:
    """Run gradcheck, with lengths 3, 1 and 0."""
    case = subject.case((3,), size=3, lengths=[3, 1, 0]).leaves()
    right = gradcheck(partial(_marginals, case), case.scores, raise_exception=False)
    demand(right, case, "the gradient of sparsemap agrees with finite differences")


def _weakly_scored(subject: Subject, seed: int) -> list[Case]:
    """Return a random case, and versions of it with small main scores, with ties, and with forbidden parts.

    With small main scores, many structures share the weight.
    """
    case = subject.case(seed=seed)
    small = case.with_scores([0.1 * case.scores[0], *case.scores[1:]])
    return [case, small, tied(case), forbid_at_random(small)]


def _marginals(case: Case, *scores: Tensor) -> Tensor:
    return case.with_scores(scores).distribution().sparsemap().marginals


def _check_item(item: Case, table: Table, weights: Tensor, events: Tensor, marginals: Tensor) -> None:
    """Check the result for one item, whose permitted structures `table` lists."""
    demand((weights >= 0).all(), item, f"sparsemap weights are not negative, but {weights.min():.1e}")
    used = weights > 0
    rows = torch.stack([table.find(event) for event in events[used]]).double()
    demand((rows.sum(1) == 1).all(), item, "sparsemap is made of permitted structures")
    demand(used.sum() <= marginals.numel() + 1, item, "sparsemap is made of few structures")
    agree(item, "sparsemap weights sum to 1", weights.sum(), torch.ones_like(weights.sum()))
    mixture = weights[used] @ rows
    mean = torch.tensordot(mixture, table.parts, 1)
    agree(item, "sparsemap marginals are the mean of its structures", marginals, mean)
    gains = table.scores - (table.parts * marginals).flatten(1).sum(1)
    gap = float(gains.max() - mixture @ gains)
    demand(gap < 1e-6, item, f"sparsemap is optimal (duality gap {gap:.1e})")
