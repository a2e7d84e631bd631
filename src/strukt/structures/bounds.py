"""Max-marginals of structures whose recursion is a table."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import as_tuple, asks_for_gradient, is_plain
from strukt.kernels.semiring import NEG_INF

AT_ONCE = 64
"""Parts that are required at once, each of a copy."""


def max_marginals(structure: Any) -> Tensor | None:
    """Return those that the structure's kernel finds; None where there is none, or a gradient is asked for."""
    if not is_plain() or asks_for_gradient(structure.scores):
        return None
    arguments = structure._arguments()
    compute = structure.oracles.max_marginals(*arguments)
    if compute is None:
        return None
    found: Tensor = structure._to_batch(as_tuple(compute(*arguments))[0])
    return found


def by_requiring(structure: Any) -> Tensor:
    """For each main part the best score of a structure that is required to use it; differentiable.

    As many calls of the mode as there are parts, some at once.
    """
    main = structure.scores[0]
    axes = main.dim() - len(structure.batch_shape)
    shape = main.shape[main.dim() - axes :]
    found = []
    for parts in torch.split(torch.arange(shape.numel(), device=main.device), AT_ONCE):
        copies = structure.expand(torch.Size([len(parts)]) + structure.batch_shape)
        required = torch.nn.functional.one_hot(parts, shape.numel()).bool()
        required = required.reshape(len(parts), *(1,) * len(structure.batch_shape), *shape)
        found.append(copies.condition(required.expand(copies.scores[0].shape)).max_score)
    best = torch.cat(found) if found else main.new_zeros(0, *structure.batch_shape)
    best = best.movedim(0, -1).reshape(*structure.batch_shape, *shape)
    return torch.where(structure._parts_within, best, NEG_INF)
