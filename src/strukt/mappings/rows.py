"""Arguments of all mappings: scores of any shape as rows, masks, and one parameter for each row."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.kernels.constants import constant, number

NORMS = (1.0, "more than 1, and finite", torch.inf)
"""The range of the exponent of a norm for `of_rows`: lower bound, range in words, exclusive upper bound."""

WEIGHTS = (0.0, "0 or more, and finite", torch.inf)
"""The range of the weight of a penalty, in the same form."""


def on_rows(
    x: Tensor, dim: int, mask: Tensor | None, compute: Callable[..., Tensor], *parameters: Tensor
) -> Tensor:
    """Apply ``compute(rows, *parameters)`` along an axis, computing half precision in float32.

    Args:
        x: Scores, of any shape.
        dim: The axis of ``x`` along which to apply the function.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf.
        compute: Function of ``(rows, d)`` and parameters ``(rows,)`` to ``(rows, d)``.
        parameters: Tensors ``(rows,)``, as `of_rows` returns them.

    Returns:
        The results, in the shape and type of ``x``.

    Raises:
        ValueError: If the scores are not floating-point, there is no such axis, or the mask does not fit.
    """
    axis = check(x, dim)
    result = compute(to_rows(x, dim, mask), *parameters)
    return result.reshape(x.movedim(axis, -1).shape).movedim(-1, axis).to(x.dtype)


def to_rows(x: Tensor, dim: int, mask: Tensor | None) -> Tensor:
    """Return the scores along an axis as rows ``(rows, d)``, -inf where masked, half precision as float32.

    Raises:
        ValueError: If the scores are not floating-point, there is no such axis, or the mask does not fit.
    """
    axis = check(x, dim)
    scores = x if x.dtype in (torch.float32, torch.float64) else x.float()
    if mask is not None:
        arguments.fitting("mask", mask, x.shape)
        arguments.mask("mask", mask, mask.shape)
        scores = scores.masked_fill(~mask, -torch.inf)
    last = scores.movedim(axis, -1)
    return last.reshape(last.shape[:-1].numel(), last.shape[-1])


def check(x: Tensor, dim: int) -> int:
    """Return the axis counted from the front, 0 or more.

    Raises:
        ValueError: If the scores are not floating-point, or there is no such axis.
    """
    arguments.scores("x", x, "(..., d)", 1)
    if not -x.dim() <= dim < x.dim():
        raise ValueError(
            f"dim is {dim}; expected {-x.dim()} to {x.dim() - 1} for x of shape {tuple(x.shape)}"
        )
    return dim % x.dim()


def of_rows(
    name: str, value: float | Tensor, x: Tensor, dim: int, least: float, expected: str, below: float | None = None,
    strict: bool = False, check_values: bool = True,
) -> Tensor:  # fmt: skip
    """Return one parameter for each row, ``(rows,)``, in the order of the rows of `on_rows`.

    Args:
        name: The name of the parameter in error messages.
        value: A number, or a tensor that broadcasts to ``x`` with size 1 along ``dim``.
        x: Scores, of any shape.
        dim: The axis of ``x`` that makes a row.
        least: The lower bound.
        expected: The range in words, for error messages.
        below: The exclusive upper bound, or None.
        strict: Whether the lower bound is exclusive.
        check_values: Whether to check the values of a tensor, which waits for its device.

    Raises:
        ValueError: If the parameter does not broadcast, or a value is out of range.
    """
    axis = check(x, dim)
    shape = torch.Size([*x.shape[:axis], 1, *x.shape[axis + 1 :]])
    parameter = value if isinstance(value, Tensor) else constant(float(value), x.device)
    arguments.fitting(name, parameter, shape)
    rows = parameter.expand(shape).reshape(-1)
    known = number(value) if isinstance(value, Tensor) else float(value)
    if known is None and not check_values:
        return rows
    # A number is checked on the host, so as not to wait for the device.
    checked = rows.detach() if known is None else torch.tensor(known, dtype=torch.float64, device="cpu")
    valid = checked > least if strict else checked >= least
    if below is not None:
        valid = valid & (checked < below)
    guards.require_values(checked, valid, name, expected, checked.dim())
    return rows


def capped(x: Tensor, max_support: int | None) -> Tensor:
    """Keep the ``max_support`` largest scores of each row ``(rows, d)``, and replace all others by -inf.

    If ``max_support`` is None, all scores are kept.
    """
    if max_support is None or max_support >= x.shape[-1]:
        return x
    kept = x.topk(max_support, dim=-1).indices
    return x.masked_fill(torch.ones_like(x, dtype=torch.bool).scatter(-1, kept, False), -torch.inf)


def check_cap(max_support: int | None) -> None:
    """Raise ValueError unless ``max_support`` is None or an integer of 1 or more."""
    if max_support is not None:
        arguments.positive_integer("max_support", max_support)
