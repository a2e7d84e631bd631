"""Random scores in place of random structures: perturb-and-MAP, and gradients through structures.

A structure of the highest perturbed score is a cheap approximate sample (Papandreou and Yuille 2011). Gradients
pass through it in three ways: its relaxation by the marginals at a temperature (stochastic softmax tricks, Paulus
et al. 2020), the same relaxation behind the discrete structure (straight-through), and the difference of two
structures (implicit maximum likelihood, Niepert et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def gumbel_noise(scores: Tensor) -> Tensor:
    """Independent standard Gumbel noise in the shape of ``scores``."""
    return -torch.empty_like(scores).exponential_().log()


def straight_through(parts: Tensor, relaxed: Tensor) -> Tensor:
    """The value of ``parts`` with the gradient of ``relaxed``, which has the same shape."""
    return parts + (relaxed - relaxed.detach())


def implicit_mle(scores: Tensor, best_parts: Callable[[Tensor], Tensor], step: float) -> Tensor:
    """The parts of the best structures, with the gradient of implicit maximum likelihood.

    Args:
        scores: Main scores, perturbed.
        best_parts: Main scores to the 0/1 parts of the best structures, of the same shape.
        step: How far the scores are moved against a gradient to see which structure it asks for (lambda in Niepert
            et al. 2021, equation 8); the gradient is the difference of the structures divided by it.
    """
    return _ImplicitMLE.apply(scores, best_parts, step)  # type: ignore[no-any-return, no-untyped-call]


class _ImplicitMLE(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, best_parts: Callable[[Tensor], Tensor], step: float) -> Tensor:
        parts = best_parts(scores)
        ctx.save_for_backward(scores, parts)
        ctx.best_parts, ctx.step = best_parts, step
        return parts

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        scores, parts = ctx.saved_tensors
        wanted = ctx.best_parts(scores - ctx.step * grad)
        return (parts - wanted) / ctx.step, None, None
