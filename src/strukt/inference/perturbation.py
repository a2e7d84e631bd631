"""Perturb-and-MAP, and gradients through discrete structures (straight-through, I-MLE, SPIGOT).

The mode under randomly perturbed scores is a cheap approximate sample (Papandreou and Yuille 2011). Gradients pass
through it in three ways: the marginals at a temperature as its relaxation (stochastic softmax tricks, Paulus et
al. 2020), the discrete structure with the gradient of that relaxation (straight-through), and the difference of
two structures (implicit maximum likelihood, Niepert et al. 2021). Without noise, gradients pass through the best
structure as through the identity (straight-through), as in the structured perceptron, or as in SPIGOT (Peng et al.
2018).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Parts = Callable[[Tensor], Tensor]
"""A function of scores of parts to parts of the same shape."""

Target = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A function of scores, parts of the best structures, and a step against a gradient, to the target parts."""


def gumbel_noise(scores: Tensor) -> Tensor:
    """Return independent standard Gumbel noise in the shape of ``scores``."""
    return -torch.empty_like(scores).exponential_().log()


def straight_through(parts: Tensor, relaxed: Tensor) -> Tensor:
    """Return the value of ``parts`` with the gradient of ``relaxed``, which has the same shape."""
    return parts + (relaxed - relaxed.detach())


def implicit_mle(scores: Tensor, best_parts: Parts, step: float) -> Tensor:
    """Return the parts of the best structures, with the gradient of implicit maximum likelihood (I-MLE).

    Without perturbed scores the gradient is that of the structured perceptron, with the structure that lowers the
    loss as its target.

    Args:
        scores: Main scores, perturbed.
        best_parts: Function of main scores to the 0/1 parts of the best structures, of the same shape.
        step: The step of the scores against a gradient, to find the target structure (lambda in Niepert et al.
            2021, equation 8); the gradient is the difference of the structures divided by it.
    """
    return _towards(scores, best_parts, lambda scores, _, move: best_parts(scores - move), step)


def spigot(scores: Tensor, best_parts: Parts, project: Parts, step: float) -> Tensor:
    """Return the parts of the best structures, with the gradient of SPIGOT (Peng et al. 2018, equation 4).

    Args:
        scores: Main scores.
        best_parts: Function of main scores to the 0/1 parts of the best structures, of the same shape.
        project: Function of points to the nearest points of the marginal polytope, of the same shape.
        step: The step of the parts against a gradient before they are projected.
    """
    return _towards(scores, best_parts, lambda _, parts, move: project(parts - move), step)


def _towards(scores: Tensor, best_parts: Parts, target: Target, step: float) -> Tensor:
    if not step > 0:
        raise ValueError(f"step is {step!r}; expected a number above 0")
    parts = best_parts(scores.detach())
    result: Tensor = _Towards.apply(scores, parts.detach(), target, step)  # type: ignore[no-untyped-call]
    return result


class _Towards(torch.autograd.Function):
    """Autograd function of the best structures whose gradient is their difference from a target structure."""

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


class _Once(torch.autograd.Function):
    """Autograd function of a value without second derivative: asking for one is an error, not 0."""

    @staticmethod
    def forward(value: Tensor, origin: Tensor) -> Tensor:  # noqa: ARG004
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # noqa: ARG004
        raise RuntimeError(
            "the gradient of the parts of a mode is a surrogate without a derivative of its own; use "
            "rsample_relaxed or marginals where second derivatives are needed"
        )
