"""Laws of first and second derivatives: they agree with finite differences and theory; 0 at forbidden parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor
from torch.autograd import grad, gradcheck, gradgradcheck

from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.operators import (
    Operator,
    OperatorArguments,
    random_arguments,
    rival,
    smooth_operators,
    truth,
)
from strukt.testing.patterns import forbid_at_random, steep
from strukt.testing.subject import Case, Subject


@law()
def derivatives_pass_numerical_checks(subject: Subject) -> None:
    """Run gradcheck and gradgradcheck on every smooth operator, with lengths 3, 1 and 0 and forbidden parts."""
    case = forbid_at_random(subject.case((3,), size=3, lengths=[3, 1, 0]))
    inputs = _Inputs.of(case)
    for operator in smooth_operators(case):
        _check_numerically(inputs, operator)


def _check_numerically(inputs: _Inputs, operator: Operator) -> None:
    """Check first and second derivatives by finite differences.

    First derivatives are in reverse and in forward mode, second ones in either mode over reverse mode.
    """
    case = inputs.case
    function, leaves = partial(inputs.value, operator), inputs.read_by(operator)
    first = gradcheck(function, leaves, fast_mode=True, check_forward_ad=True, raise_exception=False)
    demand(first, case, f"{operator.name}: reverse and forward mode agree with finite differences")
    second = gradgradcheck(
        function,
        leaves,
        fast_mode=True,
        check_fwd_over_rev=True,
        check_undefined_grad=False,  # it would take as long as all the rest, and is checked above
        raise_exception=False,
    )
    demand(second, case, f"{operator.name}: second derivatives agree with finite differences")


@law()
def derivatives_agree_with_enumeration(subject: Subject) -> None:
    """Compare first and second derivatives of every smooth operator with those of the enumeration."""
    for case in (subject.case(), forbid_at_random(subject.case()), steep(subject.case())):
        inputs = _Inputs.of(case)
        for operator in smooth_operators(case):
            result = inputs.derivatives(inputs.value(operator, *inputs.read_by(operator)))
            true = inputs.derivatives(inputs.truth(operator))
            for order, (actual, expected) in enumerate(zip(result, true, strict=True), start=1):
                close = torch.allclose(actual, expected, rtol=1e-9, atol=1e-9)
                demand(close, case, f"{operator.name}: derivative {order} agrees with enumeration")


@law("log_partition", "marginals")
def gradient_of_log_partition_is_the_marginals(subject: Subject) -> None:
    """Compare the gradient of the log-partition with the marginals, as in every exponential family."""
    case = forbid_at_random(subject.case()).leaves()
    distribution = case.distribution()
    (gradient,) = grad(distribution.log_partition.sum(), case.scores[:1])
    agree(case, "the gradient of log_partition is the marginals", gradient, distribution.marginals)


@law("log_partition")
def hessian_of_log_partition_is_the_covariance(subject: Subject) -> None:
    """Compare the Hessian of the log-partition with the covariance of the part vectors, by enumeration."""
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
    """Compare the gradient of the best score with the part vector of the best structure."""
    case = forbid_at_random(subject.case()).leaves()
    distribution = case.distribution()
    (gradient,) = grad(distribution.max_score.sum(), case.scores[:1])
    parts = distribution.to_parts(distribution.mode).to(gradient.dtype)
    agree(case, "the gradient of max_score is the mode", gradient, parts)


@law("topk")
def gradient_of_topk_is_the_structures(subject: Subject) -> None:
    """Compare the gradient of the k-th score with the part vector of the k-th structure."""
    case = subject.case((2,), lengths=[subject.size]).leaves()
    scores, events = case.distribution().topk(3)
    for rank in range(3):
        (gradient,) = grad(scores[..., rank].sum(), case.scores[:1], retain_graph=True)
        parts = case.distribution().to_parts(events.select(len(case.batch_shape), rank)).to(gradient.dtype)
        agree(case, f"the gradient of the topk score {rank} is its structure", gradient, parts)


@law()
def forbidden_parts_have_zero_derivatives(subject: Subject) -> None:
    """Check that derivatives at forbidden parts are exactly 0, to second order, and that none is NaN."""
    case = forbid_at_random(subject.case()).leaves()
    arguments = random_arguments(case)
    for operator in smooth_operators(case):
        value = operator.of(case.distribution(), arguments)
        first = grad(value.sum(), case.scores, create_graph=True, materialize_grads=True)
        _demand_zero(case, f"{operator.name}: first derivative", first)
        weighted = sum((gradient * torch.randn_like(gradient)).sum() for gradient in first)
        if isinstance(weighted, Tensor) and weighted.requires_grad:
            second = grad(weighted, case.scores, materialize_grads=True)
            _demand_zero(case, f"{operator.name}: second derivative", second)


@dataclass(frozen=True)
class _Inputs:
    """The inputs in which operators are differentiable: scores, scores of the other distribution, values."""

    case: Case
    others: Case
    arguments: OperatorArguments

    @classmethod
    def of(cls, case: Case) -> _Inputs:
        """Return the inputs for a case; all scores, and the values of parts, require gradients."""
        arguments = random_arguments(case)
        return cls(
            case.leaves(), rival(case).leaves(), replace(arguments, values=arguments.values.requires_grad_())
        )

    @property
    def leaves(self) -> tuple[Tensor, ...]:
        return (*self.case.scores, *self.others.scores, self.arguments.values)

    def read_by(self, operator: Operator) -> tuple[Tensor, ...]:
        """Return the leaves that an operator reads; finite differences in other leaves take time and are 0."""
        read = {"other": self.others.scores, "values": (self.arguments.values,)}
        return (*self.case.scores, *read.get(operator.reads or "", ()))

    def value(self, operator: Operator, *leaves: Tensor) -> Tensor:
        """Return the value of an operator of the distribution, as a function of the leaves that it reads."""
        count = len(self.case.scores)
        distribution, arguments = self.case.with_scores(leaves[:count]).distribution(), self.arguments
        if operator.reads == "other":
            arguments = replace(arguments, other=self.others.with_scores(leaves[count:]).distribution())
        if operator.reads == "values":
            arguments = replace(arguments, values=leaves[count])
        return operator.of(distribution, arguments)

    def truth(self, operator: Operator) -> Tensor:
        """Return the value of an operator by enumeration."""
        return truth(self.case, operator, self.arguments, self.others)

    def derivatives(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradient of a random combination of a value's entries, and a second derivative.

        The latter is the gradient of a random combination of the former's entries.
        """
        generator = torch.Generator().manual_seed(4)
        combined, result = value, []
        for _ in range(2):
            weights = torch.randn(combined.shape, generator=generator, dtype=combined.dtype)
            total = (weights * combined).sum() + sum(
                0.0 * leaf.nan_to_num(neginf=0).sum() for leaf in self.leaves
            )
            gradients = grad(total, self.leaves, create_graph=True, materialize_grads=True)
            combined = torch.cat([gradient.flatten() for gradient in gradients])
            result.append(combined)
        return result[0], result[1]


def _demand_zero(case: Case, what: str, derivatives: tuple[Tensor, ...]) -> None:
    """Raise AssertionError if a derivative is NaN anywhere, or not 0 at a score of -inf."""
    for name, score, derivative in zip(case.subject.arguments, case.scores, derivatives, strict=True):
        demand(not derivative.isnan().any(), case, f"{what} with respect to {name} is never NaN")
        forbidden = derivative[score == -torch.inf]
        demand((forbidden == 0).all(), case, f"{what} with respect to {name} is exactly 0 at forbidden parts")
