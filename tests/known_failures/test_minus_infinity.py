"""Forbidden parts: a whole label, all of a secondary score, and penalties so large that they forbid."""

import math

import pytest
import torch
from tests.further import SUBJECTS
from torch import Tensor
from torch.autograd import grad

from strukt.testing import Case
from strukt.testing.comparison import agree
from strukt.testing.patterns import fill, forbid_at_random
from strukt.testing.subjects import STRUCTURES


def check(case: Case, claim: str) -> None:
    """Values and derivatives against enumeration, whether or not items have a structure left."""
    case = case.leaves()
    distribution = case.distribution()
    for name in ("log_partition", "marginals", "max_score", "log_count"):
        agree(case, f"{name}, {claim}", getattr(distribution, name), [getattr(t, name) for t in case.tables])
    possible = torch.tensor([bool(len(table.permitted.scores)) for table in case.tables])
    entropy = distribution.entropy()
    agree(
        case,
        f"entropy, {claim}",
        torch.where(possible, entropy, 0),
        [table.entropy() for table in case.tables],
    )
    first = grad(
        distribution.log_partition[possible].sum(), case.scores, create_graph=True, materialize_grads=True
    )
    agree(case, f"gradient, {claim}", first[0], distribution.marginals)
    squares = torch.stack([gradient.square().sum() for gradient in first]).sum() + entropy.sum()
    for derivative in grad(squares, case.scores, materialize_grads=True):
        assert derivative.isfinite().all(), claim


@SUBJECTS
def test_a_label_may_be_forbidden_everywhere(subject):
    """A column of -inf: NaN in most of the gradients elsewhere, or marginals of its neighbours that sum to 0."""
    case = subject.case((4,), lengths=[subject.size, subject.size - 1, 2, 1])
    for place, score in enumerate(case.scores):
        for axis in range(score.dim() - subject.arguments[list(subject.arguments)[place]], score.dim()):
            for index in {0, score.shape[axis] - 1}:
                masks = [torch.zeros_like(each, dtype=torch.bool) for each in case.scores]
                masks[place].select(axis, index).fill_(True)
                check(fill(case, masks, -math.inf), f"score {place}, axis {axis}, index {index} forbidden")


SECONDARY = [subject for subject in STRUCTURES if len(subject.arguments) > 1]


@pytest.mark.parametrize("subject", SECONDARY, ids=lambda subject: subject.name)
def test_all_of_a_secondary_score_may_be_forbidden(subject):
    """All transitions, all rules, or a word that no rule emits: no weight, no NaN."""
    case = subject.case((4,), lengths=[subject.size, subject.size - 1, 2, 1])
    for place in range(1, len(case.scores)):
        masks = [torch.zeros_like(each, dtype=torch.bool) for each in case.scores]
        masks[place].fill_(True)
        check(fill(case, masks, -math.inf), f"score {place} forbidden")


@pytest.mark.thinned("subject", "penalty")
@SUBJECTS
@pytest.mark.parametrize("penalty", [-1e5, -1e9])
def test_large_penalties_forbid(subject, penalty):
    """Penalties of -1e9 for -inf add up and cancel elsewhere."""
    case = subject.case((4,), lengths=[subject.size, subject.size - 1, 2, 1]).map(Tensor.float)
    hard = forbid_at_random(case).distribution()
    soft = forbid_at_random(case).map(lambda s: s.masked_fill(s == -math.inf, penalty)).distribution()
    for name in ("log_partition", "marginals", "max_score"):
        found, expected = getattr(soft, name), getattr(hard, name)
        assert torch.allclose(found, expected, rtol=1e-5, atol=1e-5), name
    assert torch.equal(soft.mode, hard.mode)
