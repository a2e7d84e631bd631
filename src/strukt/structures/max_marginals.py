"""Max-marginals of any structure: by its kernel, its PyTorch code, or by requiring one part after another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import as_tuple, asks_for_gradient, differentiable_gradients, is_plain
from strukt.kernels.semiring import NEG_INF

AT_ONCE = 64
"""The number of parts that are required in one call, each in its own copy of the item."""


def max_marginals(structure: Any) -> Tensor:
    """Return the max-marginals by the structure's kernel, or by its `_max_marginals` if there is no kernel."""
    arguments = structure._arguments() if is_plain() else ()
    compute = structure.oracles.kernel("max_marginals", *arguments) if arguments else None
    if compute is None:
        return structure._max_marginals()  # type: ignore[no-any-return]
    if not asks_for_gradient(structure.scores):
        return structure._to_batch(as_tuple(compute(*arguments))[0])  # type: ignore[no-any-return]
    pull = structure.oracles.kernel("max_marginals_gradient", *arguments)
    if pull is None:
        return structure._max_marginals()  # type: ignore[no-any-return]
    result = as_tuple(compute(*arguments))[0]
    return _MaxMarginals.apply(structure, result, pull, *structure.scores)  # type: ignore[no-any-return, no-untyped-call]


class _MaxMarginals(torch.autograd.Function):
    """Autograd function of a kernel's max-marginals; second and higher derivatives are those of `_max_marginals`.

    ``values`` are the max-marginals with one batch axis, and ``pull`` is the kernel of their gradient.
    """

    @staticmethod
    def forward(ctx: Any, structure: Any, values: Tensor, pull: Any, *scores: Tensor) -> Tensor:
        ctx.structure, ctx.pull = structure, pull
        ctx.save_for_backward(*scores)
        return structure._to_batch(values.clone())  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, factors: Tensor) -> Any:
        structure, scores = ctx.structure, ctx.saved_tensors
        if torch.is_grad_enabled():  # for higher derivatives
            again = structure._with_scores(*scores)
            return None, None, None, *differentiable_gradients(again._max_marginals(), scores, factors)
        with torch.enable_grad():
            leaves = [score.detach().requires_grad_() for score in scores]
            flat = structure._with_scores(*leaves)._flat_scores()
        arguments = structure._arguments()
        pulls = as_tuple(ctx.pull(*arguments, factors.reshape(arguments[0].shape)))
        grads = torch.autograd.grad(flat[: len(pulls)], leaves, pulls, allow_unused=True)
        return None, None, None, *grads


def without_kernel(structure: Any) -> Tensor:
    """Return the max-marginals by the structure's algorithm in PyTorch, or by `by_requiring` if it has none."""
    algorithm = structure._best_with_each_part
    if algorithm is None or (structure._best_by_numpy and not is_plain()):
        return by_requiring(structure)
    best = structure._to_batch(algorithm(*structure._arguments()))
    return torch.where(structure._parts_within, best, NEG_INF)


def by_requiring(structure: Any) -> Tensor:
    """Return, for each main part, the best score of a structure that uses it, by requiring it; differentiable.

    It takes one mode for each part; a call of the mode oracle finds those of `AT_ONCE` parts.
    """
    main = structure.scores[0]
    axes = main.dim() - len(structure.batch_shape)
    shape = main.shape[main.dim() - axes :]
    every = torch.arange(shape.numel(), device=main.device)
    result = []
    for parts in torch.split(every, AT_ONCE):  # one empty tensor if there are no parts
        copies = structure.expand(torch.Size([len(parts)]) + structure.batch_shape)
        required = parts.unsqueeze(-1) == every
        required = required.reshape(len(parts), *(1,) * len(structure.batch_shape), *shape)
        result.append(copies.condition(required.expand(copies.scores[0].shape)).max_score)
    best = torch.cat(result).movedim(0, -1).reshape(*structure.batch_shape, *shape)
    return torch.where(structure._parts_within & structure._main_within(), best, NEG_INF)
