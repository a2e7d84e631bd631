"""The two stochastic matrices of a low-rank transition, computed from log-features without copying them.

With W = softmax_r(source + total) and P = softmax_z(target), where total = logsumexp_z target, the derivatives are

    d source = W (dW - sum_r W dW),   d total = sum_z d source,   d target = P (dP - sum_z P dP + d total).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import asks_for_gradient
from strukt.structures.hmm.pieces import pieces


def factors(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return W and P, ``(z, r)`` each, from log-features ``(z, r)``; differentiable.

    Each row of ``source`` and each column of ``target`` must have an entry above -inf.
    """
    result: tuple[Tensor, Tensor] = _Factors.apply(source, target)  # type: ignore[no-untyped-call]
    return result


class _Factors(torch.autograd.Function):
    """Autograd function of W and P; both passes work on pieces of the tables."""

    @staticmethod
    def forward(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        total = target.logsumexp(0)
        leaving, landing = torch.empty_like(source), torch.empty_like(target)
        for part, before, out, after in pieces(source, target, leaving, landing):
            torch.softmax(part + total, 1, out=out)
            torch.sub(before, total, out=after).exp_()
        return leaving, landing

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, in_leaving: Tensor, in_landing: Tensor) -> tuple[Tensor, ...]:
        source, target, leaving, landing = ctx.saved_tensors
        if asks_for_gradient((source, target, in_leaving, in_landing)):  # for higher derivatives
            shares = torch.softmax(source + target.logsumexp(0), 1), torch.softmax(target, 0)
            of_source = shares[0] * (in_leaving - (shares[0] * in_leaving).sum(1, keepdim=True))
            in_total = of_source.sum(0) - (shares[1] * in_landing).sum(0)
            return of_source, shares[1] * (in_landing + in_total)
        in_source, in_target = torch.empty_like(source), torch.empty_like(target)
        shift = torch.zeros_like(source[0])
        for weights, grad, out in pieces(leaving, in_leaving, in_source):
            torch.sub(grad, (weights * grad).sum(1, keepdim=True), out=out).mul_(weights)
            shift += out.sum(0)
        for weights, grad in pieces(landing, in_landing):
            shift -= (weights * grad).sum(0)
        for weights, grad, out in pieces(landing, in_landing, in_target):
            torch.add(grad, shift, out=out).mul_(weights)
        return in_source, in_target
