"""Surrogate gradients of discrete structures: straight-through, implicit maximum likelihood (I-MLE), SPIGOT.

The true gradient of the best structure is 0 almost everywhere. Surrogates are the gradient of a relaxation or of
the identity function (straight-through), that of the structured perceptron, which with perturbed scores is
implicit maximum likelihood (Niepert et al. 2021), and that of SPIGOT (Peng et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.undifferentiated import MAPPED

Parts = Callable[[Tensor], Tensor]
"""A function from a tensor in the shape of the scores to parts of the same shape."""

Target = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A function of scores, parts of the best structures, and step times gradient, which returns the target parts."""


def straight_through(parts: Tensor, relaxed: Tensor) -> Tensor:
    """Return the value of ``parts`` with the gradient of ``relaxed``, which has the same shape.

    ``parts`` should not require a gradient, which would be added.
    """
    return parts + (relaxed - relaxed.detach())


def implicit_mle(scores: Tensor, best_parts: Parts, step: float) -> Tensor:
    """Return the parts of the best structures, with the gradient of implicit maximum likelihood (I-MLE).

    The target structure is the best one after a step of the scores against the gradient. The gradient with respect
    to the scores is the best structure minus the target structure, divided by the step: the gradient of the
    structured perceptron, with the target as the correct structure. It has no second derivative: computing one
    raises RuntimeError.

    Args:
        scores: Perturbed main scores.
        best_parts: Function of main scores to the 0/1 parts of the best structures, of the same shape.
        step: The length of the step, above 0 (lambda in Niepert et al. 2021, equation 8).

    Raises:
        ValueError: If the step is not positive and finite.
    """
    return _towards(scores, best_parts, lambda scores, _, move: best_parts(scores - move), step)


def spigot(scores: Tensor, best_parts: Parts, project: Parts, step: float) -> Tensor:
    """Return the parts of the best structures, with the gradient of SPIGOT (Peng et al. 2018, equation 4).

    The target is the projection of the best parts after a step against the gradient. The gradient with respect to
    the scores is the best parts minus the target, divided by the step. It has no second derivative: computing one
    raises RuntimeError.

    Args:
        scores: Main scores.
        best_parts: Function of main scores to the 0/1 parts of the best structures, of the same shape.
        project: Function of points to the nearest points of the marginal polytope, of the same shape.
        step: The length of the step, above 0.

    Raises:
        ValueError: If the step is not positive and finite.
    """
    return _towards(scores, best_parts, lambda _, parts, move: project(parts - move), step)


def _towards(scores: Tensor, best_parts: Parts, target: Target, step: float) -> Tensor:
    """Return the best parts with the gradient (best - target) / step; raise ValueError for an invalid step."""
    if not 0 < step < torch.inf:
        raise ValueError(f"step is {step!r}; expected a number above 0, and finite")
    parts = best_parts(scores.detach())
    result: Tensor = _Towards.apply(scores, parts.detach(), target, step)  # type: ignore[no-untyped-call]
    return result


class _Towards(torch.autograd.Function):
    """Autograd function of the best structures; the gradient is (best - target structures) / step."""

    @staticmethod
    def forward(scores: Tensor, parts: Tensor, target: Target, step: float) -> Tensor:  # noqa: ARG004
        return parts.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        scores, parts, ctx.target, ctx.step = inputs
        ctx.save_for_backward(scores, parts)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        scores, parts = (value.detach() for value in ctx.saved_tensors)
        move = (parts - ctx.target(scores, parts, ctx.step * grad.detach())) / ctx.step
        return _Once.apply(move, grad), None, None, None  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(*_: Any) -> Any:
        raise NotImplementedError(MAPPED)


class _Once(torch.autograd.Function):
    """Autograd function of a gradient that is not differentiable: its own backward pass raises an error."""

    @staticmethod
    def forward(value: Tensor, origin: Tensor) -> Tensor:  # noqa: ARG004
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # noqa: ARG004
        raise RuntimeError(
            "the parts of a mode have a surrogate gradient without a second derivative; use rsample_relaxed or "
            "marginals if second derivatives are needed"
        )
