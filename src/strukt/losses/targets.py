"""Targets of losses of vectors, classes or points: checks, and conversion to rows."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from strukt.checks import guards
from strukt.checks.arguments.shapes import as_tensor_remedy, kind_of

ROUNDING = 1e-4
"""The amount by which rounding errors may lift an entry of a target above 1."""


def require_kind(target: Tensor) -> None:
    """Check that a target is a tensor of real numbers that needs no gradient.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(target, Tensor) or target.dtype == torch.bool or target.is_complex():
        raise ValueError(
            f"target is {kind_of(target)}; expected a tensor of classes (integers) or of probabilities"
            f"{as_tensor_remedy('target', target)}"
        )
    if torch.is_grad_enabled() and target.requires_grad:
        raise ValueError(
            "target requires a gradient, but the loss is not differentiable in it; give target.detach()"
        )


def points_of(
    target: Tensor, x: Tensor, axis: int, scores: Tensor, check_values: bool, on_simplex: bool
) -> Tensor:
    """Check target points in the shape of x and return them as rows ``(rows, d)``; their sums are not checked.

    Entries must be 0 or more and finite; unless ``on_simplex``, they must also be at most 1.

    Raises:
        ValueError: If the shape is wrong, or, with ``check_values``, if an entry is out of range.
    """
    if target.shape != x.shape:
        raise ValueError(f"target has shape {tuple(target.shape)}; expected that of x, {tuple(x.shape)}")
    if check_values:
        points = target.detach()
        valid = (points >= 0) & (points < math.inf if on_simplex else points <= 1.0 + ROUNDING)
        expected = "finite numbers of 0 or more" if on_simplex else "numbers from 0 to 1"
        guards.require_values(points, valid, "target", expected)
    return target.movedim(axis, -1).reshape(scores.shape).to(scores.dtype)


def classes_of(
    target: Tensor, x: Tensor, axis: int, ignore_index: int, check_values: bool
) -> tuple[Tensor, Tensor]:
    """Check target classes; return them, 0 where ignored, and a mask of examples that count: ``(rows,)`` each.

    Raises:
        ValueError: If the shape is wrong, or a class is out of range; on a GPU, classes are only checked with
            ``check_values``.
    """
    examples, d = x.shape[:axis] + x.shape[axis + 1 :], x.shape[axis]
    if target.shape != examples:
        raise ValueError(
            f"target has shape {tuple(target.shape)}; expected classes of shape {tuple(examples)}, or "
            f"probabilities of shape {tuple(x.shape)}"
        )
    classes = target.reshape(-1).long()
    counts = classes != ignore_index
    known = torch.where(counts, classes, 0)
    if check_values or known.is_cpu:  # where compiled kernels use them as indices, unchecked
        guards.require_values(known, (known >= 0) & (known < d), "target", f"classes from 0 to {d - 1}")
    return known, counts


def smoothed(targets: Tensor, scores: Tensor, smoothing: float) -> Tensor:
    """Return target points ``(rows, d)`` with a share of their mass spread evenly over all scores above -inf.

    Args:
        targets: Points ``(rows, d)``, or classes ``(rows,)``.
        scores: ``(rows, d)``.
        smoothing: The share, from 0 to 1.
    """
    open_ = scores > -torch.inf
    size = open_.sum(-1, keepdim=True).clamp(min=1)
    if targets.is_floating_point():
        even = torch.where(open_, targets.sum(-1, keepdim=True) / size, 0.0)
        return torch.lerp(targets, even, smoothing)
    even = torch.where(open_, smoothing / size.to(scores.dtype), 0.0)
    return even.scatter_add(-1, targets.unsqueeze(-1), torch.full_like(even[..., :1], 1.0 - smoothing))
