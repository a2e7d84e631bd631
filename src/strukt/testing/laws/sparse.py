"""SparseMAP: the point of the marginal polytope that is best up to half its squared norm."""

from __future__ import annotations

import torch
from torch.autograd import gradcheck

from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.patterns import forbid_at_random
from strukt.testing.subject import Case, Subject


@law("sparsemap")
def sparsemap_is_optimal(subject: Subject) -> None:
    """A convex combination of few structures; no structure improves the objective to first order.

    The objective <scores, mu> - |mu|^2 / 2 is concave, so a point is optimal exactly if no structure gains
    more along its gradient than the point itself does (the duality gap of Frank and Wolfe is 0).
    """
    for case in (subject.case(), subject.case(()), forbid_at_random(subject.case())):
        result = case.distribution().sparsemap()
        for index, table in zip(case.indices, case.tables, strict=True):
            weights, events, marginals = result.weights[index], result.events[index], result.marginals[index]
            used = weights > 0
            item = case.item(index)
            rows = torch.stack([table.permitted.find(event) for event in events[used]]).double()
            demand(
                (rows.sum(1) == 1).all(), item, f"sparsemap of item {index} is made of permitted structures"
            )
            demand(
                used.sum() <= marginals.numel() + 1,
                item,
                f"sparsemap of item {index} is made of few structures",
            )
            total, mixed = weights.sum(), weights[used] @ rows
            agree(item, f"sparsemap weights of item {index} sum to 1", total, torch.ones_like(total))
            mean = torch.tensordot(mixed, table.permitted.parts, 1)
            agree(
                item, f"sparsemap marginals of item {index} are the mean of its structures", marginals, mean
            )
            gains = table.permitted.scores - (table.permitted.parts * marginals).flatten(1).sum(1)
            gap = float(gains.max() - mixed @ gains)
            demand(gap < 1e-6, item, f"sparsemap of item {index} is optimal (duality gap {gap:.1e})")


@law("sparsemap")
def sparsemap_is_differentiable(subject: Subject) -> None:
    """Gradcheck, with lengths 3, 1 and 0."""
    case: Case = subject.case((3,), size=3, lengths=[3, 1, 0]).leaves()
    right = gradcheck(
        lambda *scores: case.with_scores(scores).distribution().sparsemap().marginals,
        case.scores,
        raise_exception=False,
    )
    demand(right, case, "the gradient of sparsemap agrees with finite differences")
