"""Linear dependence of items: a pivoted Cholesky decomposition, heavy items first, that ends at the rank.

A dependent item i is one whose row of the kernel is a sum of x_ic times the rows of independent items c. It adds
nothing to a determinant except the weight of leaving it out. Beside entries of order 1, this weight is rounded
away once it is below 1e-16. Subtracting the sum from the item's row and column changes no determinant. It makes
the item's part of the kernel exactly 0, so that only the weight remains.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import call
from strukt.kernels.functions import constant_function
from strukt.kernels.operator import define
from strukt.kernels.semiring import NEG_INF


def combinations(level: Tensor, kernel: Tensor, k: Tensor, tolerance: float) -> Tensor:
    """Return the coefficients x ``(batch, n, n)``, one row per item, zeros for independent items; detached.

    Args:
        level: ``(batch, n)``, the log-odds of taking each item: -inf if forbidden, inf if required.
        kernel: ``(batch, n, n)``, symmetric and positive semidefinite.
        k: ``(batch,)``; at least k items count as independent.
        tolerance: A remaining variance counts as 0 if it is at most this, relative to the diagonal; the bound is
            smaller where fewer than k items would count as independent.

    Items are combinations of heavier items: ``|x_ic| exp((level_i - level_c) / 2)`` is of order 1 for a unit
    diagonal. Time O(n^3); if all items are independent, only eigenvalues are computed.
    """
    inputs = [value.detach() for value in (level, kernel, k)]
    if torch.compiler.is_compiling():  # which cannot trace an autograd function inside of torch.func.vjp
        return torch.ops.strukt.k_dpp_combinations(*inputs, tolerance)  # type: ignore[no-any-return]
    return call(_operator, *inputs, tolerance)  # type: ignore[no-any-return]


def _combinations(level: Tensor, kernel: Tensor, k: Tensor, tolerance: float) -> Tensor:
    """Return the result of `combinations`, as the body of its operator."""
    n = level.shape[-1]
    diagonal = kernel.diagonal(dim1=-2, dim2=-1)
    possible = (level > NEG_INF) & (diagonal > 0)
    deviation = torch.where(possible, diagonal, 1.0).sqrt()
    similarity = torch.where(possible.unsqueeze(-1) & possible.unsqueeze(-2), kernel, 0.0)
    similarity = similarity / deviation.unsqueeze(-1) / deviation.unsqueeze(-2)
    similarity.diagonal(dim1=-2, dim2=-1).fill_(1.0)
    eigenvalues = torch.linalg.eigvalsh(similarity).flip(-1)
    if bool((eigenvalues > tolerance).all()):
        return torch.zeros_like(kernel)
    kth = eigenvalues.gather(-1, (k.unsqueeze(-1) - 1).clamp(min=0))
    bound = (kth / (2 * n)).clamp(max=tolerance)  # k variances are above it: those left add up to kth or more
    weight = torch.where(possible, level + 2 * deviation.log(), NEG_INF)
    order, factor = _decompose(weight, similarity, bound)
    return _solve(order, factor) * possible.unsqueeze(-1) * deviation.unsqueeze(-1) / deviation.unsqueeze(-2)


def _decompose(weight: Tensor, similarity: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """Return the items in the order of selection ``(batch, n)``, and the Cholesky factor ``(batch, n, n)``.

    As a vector, item i is the sum over steps of ``factor[step, i]`` times a unit vector; the rows of steps that
    select a dependent item are 0.
    """
    batch, n = weight.shape
    order, factor = weight.new_zeros((batch, n), dtype=torch.long), torch.zeros_like(similarity)
    variance, waiting = torch.ones_like(weight), torch.ones_like(weight, dtype=torch.bool)
    for step in range(n):
        left = variance > bound
        gain = torch.where(waiting & left, weight + variance.log(), NEG_INF)
        gain = gain.clamp(min=torch.finfo(weight.dtype).min).masked_fill(~waiting, NEG_INF)
        item = gain.argmax(-1, keepdim=True)
        done = factor[:, :step]
        at_item = done.gather(-1, item.unsqueeze(-2).expand(-1, step, -1))
        column = similarity.gather(-2, item.unsqueeze(-1).expand(-1, -1, n)).squeeze(-2)
        scale = variance.gather(-1, item).sqrt()
        unexplained = (column - (at_item * done).sum(-2)) / scale
        row = torch.where(waiting & left & left.gather(-1, item), unexplained, 0.0)
        factor[:, step], order[:, step] = row, item.squeeze(-1)
        waiting = waiting.scatter(-1, item, False)
        variance = torch.where(left, variance - row.square(), 0.0)
    return order, factor


def _solve(order: Tensor, factor: Tensor) -> Tensor:
    """Return the coefficients of `combinations`, for vectors of unit length, from the results of `_decompose`."""
    n = order.shape[-1]
    square = factor.gather(-1, order.unsqueeze(-2).expand_as(factor))
    independent = square.diagonal(dim1=-2, dim2=-1) > 0
    identity = torch.eye(n, dtype=factor.dtype, device=factor.device)
    square = torch.where(independent.unsqueeze(-1), square, identity)
    weights = torch.linalg.solve_triangular(square, factor, upper=True) * independent.unsqueeze(-1)
    spread = torch.zeros_like(weights).scatter(-2, order.unsqueeze(-1).expand_as(weights), weights)
    dependent = torch.ones_like(independent).scatter(-1, order, ~independent)
    return spread.mT * dependent.unsqueeze(-1)


def _fake(level: Tensor, kernel: Tensor, k: Tensor, tolerance: float) -> Tensor:
    """Return a tensor with the shape of the result of `_combinations`, for tracing."""
    return torch.empty_like(kernel)


_SCHEMA = "(Tensor level, Tensor kernel, Tensor k, float tolerance) -> Tensor"
_operator = constant_function(define("k_dpp_combinations", _SCHEMA, _combinations, _fake))
