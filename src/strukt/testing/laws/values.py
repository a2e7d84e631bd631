"""Laws of values: every number equals that of the enumeration."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import kl_divergence

from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.operators import operators, random_arguments, rival, truth
from strukt.testing.patterns import PATTERNS, forbid_at_random, leave_one
from strukt.testing.subject import Case, Subject


@law()
def operators_agree_with_enumeration(subject: Subject) -> None:
    """Compare all operators in float64, for several lengths in one batch, and without batch dimensions."""
    for shape in ((), (2, 3)):
        _compare_all(subject.case(shape), "float64")


@law()
def operators_agree_with_enumeration_in_float32(subject: Subject) -> None:
    """Compare all operators in float32, to a relative error of 1e-4."""
    case = subject.case().map(Tensor.float)
    _compare_all(case, "float32")
    _compare_all(forbid_at_random(case), "float32, forbid_at_random")


@law()
def operators_agree_with_enumeration_at_the_edge(subject: Subject) -> None:
    """Compare all operators on forbidden parts, a single structure, ties, equal scores, and very large scores."""
    for pattern in PATTERNS:
        case = subject.case((4,), lengths=[subject.size, subject.size - 1, 2, 1])
        _compare_all(pattern(case), pattern.__name__)


@law()
def batch_equals_its_items(subject: Subject) -> None:
    """Compare every operator of a batch with the same operator of its items one by one."""
    case = forbid_at_random(subject.case())
    arguments, others = random_arguments(case), rival(case)
    for operator in operators(case):
        alone = [
            operator.of(
                case.item(index).distribution(), arguments.at(index, others.item(index).distribution())
            )
            for index in case.indices
        ]
        claim = f"{operator.name} of a batch equals that of its items one by one"
        agree(case, claim, operator.of(case.distribution(), arguments), case.stack(alone))


@law("log_partition", "marginals")
def constant_on_a_position_only_shifts(subject: Subject) -> None:
    """Add a constant to each row of which all structures use equally many parts: only the log-partition changes.

    A row is the last axis of the main scores. The marginals of such a row sum to the number of parts used.
    """
    case = subject.case()
    uses = case.stack([table.parts.sum(-1).amin(0) for table in case.tables])
    constant_rows = uses == case.stack([table.parts.sum(-1).amax(0) for table in case.tables])
    shift = constant_rows * torch.arange(1.0, uses.shape[-1] + 1, dtype=torch.float64)
    before = case.distribution()
    after = case.with_scores([case.scores[0] + shift[..., None], *case.scores[1:]]).distribution()
    gain = (uses * shift).reshape(*case.batch_shape, -1).sum(-1)
    agree(case, "log_partition grows by the constant", after.log_partition, before.log_partition + gain)
    agree(case, "marginals do not change", after.marginals, before.marginals)
    sums = torch.where(constant_rows, before.marginals.sum(-1), 0)
    agree(case, "marginals sum to the parts used", sums, torch.where(constant_rows, uses, 0))


@law("entropy", "cross_entropy")
def divergence_is_zero_from_itself_only(subject: Subject) -> None:
    """Check that KL(p, p) = 0, KL(p, q) > 0, and KL is infinite if q forbids a structure that p permits."""
    case = subject.case((2,), lengths=[subject.size, subject.size - 1])
    p, q = case.distribution(), rival(case).distribution()
    narrow = leave_one(case).distribution()
    zero = torch.zeros(2, dtype=torch.float64)
    agree(case, "kl_divergence(p, p) is 0", kl_divergence(p, case.distribution()), zero)
    agree(case, "kl_divergence adds up", kl_divergence(p, q), p.cross_entropy(q) - p.entropy())
    demand((kl_divergence(p, q) > 1e-3).all(), case, "kl_divergence(p, q) is positive")
    agree(case, "kl_divergence from a narrower support is inf", kl_divergence(p, narrow), zero + torch.inf)
    demand(kl_divergence(narrow, p).isfinite().all(), case, "kl_divergence of a narrower support is finite")


def _compare_all(case: Case, situation: str) -> None:
    """Compare every operator with enumeration; ``situation`` describes the scores in error messages."""
    arguments = random_arguments(case)
    for operator in operators(case):
        claim = f"{operator.name} agrees with enumeration ({situation})"
        agree(case, claim, operator.of(case.distribution(), arguments), truth(case, operator, arguments))
