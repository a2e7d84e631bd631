"""Gradients of PyTorch functions inside an operator, under any grad mode and tracing."""

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
    """Return gradients of weighted sums of ``function(*scores, *rest)``, one tuple for each of ``weights``.

    They are not differentiable. The grad mode of the caller does not matter.

    Args:
        function: Function that is differentiable in the scores; it is called once.
        scores: The tensors with respect to which to differentiate.
        rest: The other arguments of the function.
        weights: A tensor in the shape of the function's value for each gradient to compute.
    """
    with _differentiating():
        leaves = [_primal(score).detach().requires_grad_() for score in scores]
        value = function(*leaves, *map(_primal, rest))
        if not value.requires_grad:  # only structures of length 0
            return [tuple(torch.zeros_like(leaf) for leaf in leaves) for _ in weights]
        totals = [(value * _primal(weight)).sum() for weight in weights]  # grad_outputs would import sympy
        return [
            torch.autograd.grad(total, leaves, retain_graph=True, materialize_grads=True) for total in totals
        ]


def group_sums(values: Tensor, groups: int) -> Tensor:
    """Return values of items ``(batch, ...)`` summed over consecutive items that share a score: ``(groups, ...)``.

    The result is a new tensor even if no items share a score.

    Examples:
        >>> group_sums(torch.tensor([1.0, 2.0, 3.0, 4.0]), 2)
        tensor([3., 7.])
    """
    return values.reshape(groups, len(values) // max(groups, 1), *values.shape[1:]).sum(1)


def differentiated(function: Callable[..., Scores], arguments: Sequence[Any]) -> Scores:
    """Call ``function(*arguments)``, which differentiates something, under any grad mode."""
    with _differentiating():
        return function(*map(_primal, arguments))


def outside_derivative(
    log_partition: Callable[..., Tensor],
    scores: Scores,
    rest: Sequence[Any],
    weights: Tensor,
    directions: Scores,
) -> Scores:
    """Return gradients of <weighted marginals, directions> with respect to the scores and the weights.

    Args:
        log_partition: A function whose gradient with respect to the scores is the marginals; differentiable twice.
        scores: The first arguments of the function.
        rest: The other arguments of the function.
        weights: ``(batch,)``, the weights of the items.
        directions: Tensors in the shapes of the scores, multiplied with the marginals.
    """

    def marginals(weights: Tensor, *leaves: Tensor) -> Scores:
        grads: Scores = torch.func.vjp(lambda *leaves: log_partition(*leaves, *rest), *leaves)[1](weights)
        return grads

    weights_grad, *grads = torch.func.vjp(marginals, weights, *scores)[1](directions)
    return (*grads, weights_grad)


def owned(values: Scores) -> Scores:
    """Return gradients as an operator must: detached, contiguous, and not views of each other."""
    return tuple(value.detach().clone(memory_format=torch.contiguous_format) for value in values)


@contextmanager
def _differentiating() -> Iterator[None]:
    """Enable derivatives within the context, even inside an operator."""
    with torch.inference_mode(False), torch.enable_grad(), _lazy_conjugates():
        yield


@contextmanager
def _lazy_conjugates() -> Iterator[None]:
    """Resolve conjugates and negations lazily in the context; ``torch.compile`` disables that in operators.

    PyTorch 2.13 marks tensors as conjugate, and resolves the mark on use. In an operator of a compiled graph it
    ignores the mark, and derivatives of complex numbers are wrong.
    """
    with ExitStack() as stack:
        for key in (torch._C.DispatchKey.Conjugate, torch._C.DispatchKey.Negative):
            stack.enter_context(torch._C._SetExcludeDispatchKeyGuard(key, False))
        yield


def _primal(value: Any) -> Any:
    """Return a copy without tangents, which leaving inference mode would reactivate; non-tensors are unchanged."""
    if not isinstance(value, Tensor):
        return value
    return torch.autograd.forward_ad.unpack_dual(value).primal.clone()  # type: ignore[no-untyped-call]
