"""Gradients of PyTorch functions from inside an operator, whatever differentiates or traces around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores


def pull_backs(
    function: Callable[..., Tensor], scores: Scores, rest: Sequence[Any], weights: Sequence[Tensor]
) -> list[Scores]:
    """Gradients of weighted sums of ``function(*scores, *rest)``, whatever the grad mode around is.

    Args:
        function: Differentiable in the scores; evaluated once.
        scores: What to differentiate in.
        rest: Its other arguments.
        weights: For each gradient wanted, weights of the shape of the function's value.
    """
    with _differentiating():
        leaves = [_primal(score).detach().requires_grad_() for score in scores]
        value = function(*leaves, *map(_primal, rest))
        if not value.requires_grad:  # the total of structures of length 0
            return [tuple(torch.zeros_like(leaf) for leaf in leaves) for _ in weights]
        totals = [(value * _primal(weight)).sum() for weight in weights]  # given weights, PyTorch imports sympy
        return [
            torch.autograd.grad(total, leaves, retain_graph=True, materialize_grads=True) for total in totals
        ]


def differentiated(function: Callable[..., Scores], arguments: Sequence[Any]) -> Scores:
    """``function(*arguments)`` of a function that differentiates, whatever the grad mode around is."""
    with _differentiating():
        return function(*map(_primal, arguments))


def outside_derivative(
    log_partition: Callable[..., Tensor],
    scores: Scores,
    rest: Sequence[Any],
    weights: Tensor,
    directions: Scores,
) -> Scores:
    """Gradients of <weighted marginals, directions> in the scores and in the weights.

    Args:
        log_partition: Its gradient in the scores are the marginals; differentiable twice.
        scores: What it is a function of.
        rest: Its other arguments.
        weights: ``(batch,)``, of the items.
        directions: Of the shapes of the scores.
    """

    def marginals(weights: Tensor, *leaves: Tensor) -> Scores:
        grads: Scores = torch.func.vjp(lambda *leaves: log_partition(*leaves, *rest), *leaves)[1](weights)
        return grads

    weights_grad, *grads = torch.func.vjp(marginals, weights, *scores)[1](directions)
    return (*grads, weights_grad)


def owned(values: Scores) -> Scores:
    """Gradients as an operator must give them: without graph, without gaps, and none a view of another."""
    return tuple(value.detach().clone(memory_format=torch.contiguous_format) for value in values)


@contextmanager
def _differentiating() -> Iterator[None]:
    """Derivatives can be taken, also in an operator."""
    with torch.inference_mode(False), torch.enable_grad(), _lazy_conjugates():
        yield


@contextmanager
def _lazy_conjugates() -> Iterator[None]:
    """Conjugates and negations are carried out, which a graph of ``torch.compile`` switches off in its operators.

    PyTorch 2.13 marks tensors as conjugate, and resolves the mark when they are used. In an operator of a compiled
    graph it does not look at the mark, and derivatives of complex numbers are wrong.
    """
    with ExitStack() as stack:
        for key in (torch._C.DispatchKey.Conjugate, torch._C.DispatchKey.Negative):
            stack.enter_context(torch._C._SetExcludeDispatchKeyGuard(key, False))
        yield


def _primal(value: Any) -> Any:
    """A copy without tangents, which leaving inference mode would bring back; what is no tensor as it is."""
    if not isinstance(value, Tensor):
        return value
    return torch.autograd.forward_ad.unpack_dual(value).primal.clone()  # type: ignore[no-untyped-call]
