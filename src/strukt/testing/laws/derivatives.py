"""First and second derivatives: numerically right, what theory says, and exactly 0 at forbidden parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.autograd import grad, gradcheck, gradgradcheck

from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.operators import Operator, question, rival, smooth_operators
from strukt.testing.patterns import forbid_at_random
from strukt.testing.subject import Case, Subject


@law()
def first_derivatives_are_right(subject: Subject) -> None:
    """Gradcheck of every smooth operator, with lengths 3, 1 and 0 and with forbidden parts."""
    for case in _small_cases(subject):
        for operator in smooth_operators(case):
            function, inputs = _as_function(case, operator)
            right = gradcheck(function, inputs, raise_exception=False)
            demand(right, case, f"{operator.name}: the gradient agrees with finite differences")


@law()
def second_derivatives_are_right(subject: Subject) -> None:
    """Gradgradcheck of every smooth operator, with lengths 3, 1 and 0 and with forbidden parts."""
    for case in _small_cases(subject):
        for operator in smooth_operators(case):
            function, inputs = _as_function(case, operator)
            right = gradgradcheck(function, inputs, fast_mode=True, raise_exception=False)
            demand(right, case, f"{operator.name}: second derivatives agree with finite differences")


@law("log_partition", "marginals")
def gradient_of_log_partition_is_the_marginals(subject: Subject) -> None:
    """As for every exponential family."""
    case = forbid_at_random(subject.case()).leaves()
    distribution = case.distribution()
    (gradient,) = grad(distribution.log_partition.sum(), case.scores[:1])
    agree(case, "the gradient of log_partition is the marginals", gradient, distribution.marginals)


@law("log_partition")
def hessian_of_log_partition_is_the_covariance(subject: Subject) -> None:
    """Of the part vectors, by enumeration."""
    case = forbid_at_random(subject.case(()))
    permitted = case.table().permitted
    centred = (permitted.parts - permitted.marginals).flatten(1)
    covariance = centred.T @ (permitted.log_probs.exp()[:, None] * centred)
    leaves = case.leaves()
    (gradient,) = grad(leaves.distribution().log_partition, leaves.scores[:1], create_graph=True)
    rows = [grad(entry, leaves.scores[0], retain_graph=True)[0].flatten() for entry in gradient.flatten()]
    difference = (torch.stack(rows) - covariance).abs().max()
    demand(
        difference < 1e-10, case, f"the Hessian of log_partition is the covariance (off by {difference:.1e})"
    )


@law("mode", "max_score")
def gradient_of_max_score_is_the_mode(subject: Subject) -> None:
    """The part vector of the best structure."""
    case = forbid_at_random(subject.case()).leaves()
    distribution = case.distribution()
    (gradient,) = grad(distribution.max_score.sum(), case.scores[:1])
    agree(
        case,
        "the gradient of max_score is the mode",
        gradient,
        distribution.to_parts(distribution.mode).to(gradient.dtype),
    )


@law("topk")
def gradient_of_topk_is_the_structures(subject: Subject) -> None:
    """The gradient of the k-th score is the part vector of the k-th structure."""
    case = subject.case((2,), lengths=[subject.size]).leaves()
    scores, events = case.distribution().topk(3)
    for rank in range(3):
        (gradient,) = grad(scores[..., rank].sum(), case.scores[:1], retain_graph=True)
        parts = case.distribution().to_parts(events.select(len(case.batch_shape), rank))
        agree(
            case,
            f"the gradient of the topk score {rank} is its structure",
            gradient,
            parts.to(gradient.dtype),
        )


@law()
def forbidden_parts_have_zero_derivatives(subject: Subject) -> None:
    """Exactly 0, to second order; and no derivative is NaN."""
    case = forbid_at_random(subject.case()).leaves()
    asked = question(case)
    for operator in smooth_operators(case):
        value = operator.of(case.distribution(), asked)
        first = grad(value.sum(), case.scores, create_graph=True, materialize_grads=True)
        _demand_zero(case, f"{operator.name}: first derivative", first)
        weighted = sum((gradient * torch.randn_like(gradient)).sum() for gradient in first)
        if isinstance(weighted, Tensor) and weighted.requires_grad:
            second = grad(weighted, case.scores, materialize_grads=True)
            _demand_zero(case, f"{operator.name}: second derivative", second)


def _small_cases(subject: Subject) -> tuple[Case, Case]:
    case = subject.case((3,), size=3, lengths=[3, 1, 0])
    return case, forbid_at_random(case)


def _as_function(case: Case, operator: Operator) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """The operator as a function of the scores, and of the second scores or the values if it reads them."""
    asked = question(case)
    others = rival(case)
    own = len(case.scores)

    def function(*inputs: Tensor) -> Tensor:
        distribution = case.with_scores(inputs[:own]).distribution()
        other = others.with_scores(inputs[own:-1]).distribution()
        return operator.of(distribution, replace(asked, values=inputs[-1], other=other))

    return function, [
        tensor.detach().clone().requires_grad_() for tensor in (*case.scores, *others.scores, asked.values)
    ]


def _demand_zero(case: Case, what: str, derivatives: tuple[Tensor, ...]) -> None:
    for name, score, derivative in zip(case.subject.arguments, case.scores, derivatives, strict=True):
        demand(not derivative.isnan().any(), case, f"{what} with respect to {name} is never NaN")
        forbidden = derivative[score == -torch.inf]
        demand((forbidden == 0).all(), case, f"{what} with respect to {name} is exactly 0 at forbidden parts")
