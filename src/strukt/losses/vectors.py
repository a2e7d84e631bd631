"""The losses of mappings of vectors: of sparsemax, entmax, normmax, fusedmax and relaxed subsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor
from typing_extensions import Unpack

from strukt import mappings
from strukt.kernels import guards, simplex
from strukt.losses.fenchel_young import loss
from strukt.mappings.rows import check, of_rows, to_rows

Regulariser = Callable[[Tensor, Tensor], Tensor]
ClassLoss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class Options(TypedDict, total=False):
    """What all losses of vectors can be told.

    Attributes:
        dim: The axis of the scores of one example; the last by default.
        mask: Boolean, broadcast to the scores; where it is False a score does not count.
        reduction: ``"mean"`` (default) over the examples, ``"sum"``, or ``"none"``.
        ignore_index: Examples whose target is this class are left out; -100 by default.
        label_smoothing: The share of the target that goes to all scores alike; 0 by default.
    """

    dim: int
    mask: Tensor | None
    reduction: str
    ignore_index: int
    label_smoothing: float


def entmax_loss(x: Tensor, target: Tensor, alpha: float | Tensor = 1.5, **options: Unpack[Options]) -> Tensor:
    """The loss of `strukt.mappings.entmax`; cross-entropy at alpha = 1.

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without the axis of scores, or probabilities in the shape of ``x``.
        alpha: As for entmax; differentiable.
        options: See `Options`.

    Returns:
        A number, or one for each example with ``reduction="none"``. Its gradient is the prediction less the
        target; it is exactly 0 where the target's score exceeds all others by 1 / (alpha - 1).

    Raises:
        ValueError: If a shape, type or value does not fit.

    Sources: Peters, Niculae and Martins (2019); Blondel, Martins and Niculae (2020).

    Examples:
        >>> import torch
        >>> scores = torch.tensor([[2.0, 1.0, -1.0]], requires_grad=True)
        >>> entmax_loss(scores, torch.tensor([1])).backward()
        >>> scores.grad
        tensor([[ 0.8307, -0.8307,  0.0000]])
    """
    each = of_rows("alpha", alpha, x, options.get("dim", -1), 1.0, "1 (cross-entropy) or more")
    constant = not isinstance(alpha, Tensor)
    by_class = simplex.class_loss if constant else None
    return _loss(x, target, mappings.entmax, _tsallis, each, options, constant, by_class)


def sparsemax_loss(x: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """`entmax_loss` with alpha = 2 (Martins and Astudillo 2016)."""
    return entmax_loss(x, target, 2.0, **options)


def entmax15_loss(x: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """`entmax_loss` with alpha = 1.5."""
    return entmax_loss(x, target, 1.5, **options)


def normmax_loss(
    x: Tensor, target: Tensor, alpha: float | Tensor = 2.0, **options: Unpack[Options]
) -> Tensor:
    """The loss of `strukt.mappings.normmax`; arguments, result and errors are those of `entmax_loss`."""
    each = of_rows("alpha", alpha, x, options.get("dim", -1), 1.0, "more than 1", strict=True)
    return _loss(x, target, mappings.normmax, _norm, each, options, not isinstance(alpha, Tensor))


def fusedmax_loss(
    x: Tensor, target: Tensor, weight: float | Tensor = 1.0, **options: Unpack[Options]
) -> Tensor:
    """The loss of `strukt.mappings.fusedmax`; arguments, result and errors are those of `entmax_loss`.

    A mask takes scores out, and with them the differences to their neighbours.
    """
    each = of_rows("weight", weight, x, options.get("dim", -1), 0.0, "0 or more")
    within = _within(x, options)

    def regulariser(p: Tensor, weight: Tensor) -> Tensor:
        steps = torch.where(within[..., 1:] & within[..., :-1], (p[..., 1:] - p[..., :-1]).abs(), 0.0)
        return _half_square(p, weight) + weight.to(p.dtype) * steps.sum(-1)

    return _loss(x, target, mappings.fusedmax, regulariser, each, options, not isinstance(weight, Tensor))


def oscarmax_loss(
    x: Tensor, target: Tensor, weight: float | Tensor = 1.0, **options: Unpack[Options]
) -> Tensor:
    """The loss of `strukt.mappings.oscarmax`; arguments, result and errors are those of `entmax_loss`."""
    each = of_rows("weight", weight, x, options.get("dim", -1), 0.0, "0 or more")
    ranks = torch.arange(x.shape[options.get("dim", -1)], device=x.device)
    below = _within(x, options).sum(-1, keepdim=True) - 1 - ranks

    def regulariser(p: Tensor, weight: Tensor) -> Tensor:
        largest = p.sort(dim=-1, descending=True).values
        return _half_square(p, weight) + weight.to(p.dtype) * (below.clamp(min=0) * largest).sum(-1)

    return _loss(x, target, mappings.oscarmax, regulariser, each, options, not isinstance(weight, Tensor))


def ksubset_loss(x: Tensor, target: Tensor, k: float | Tensor, **options: Unpack[Options]) -> Tensor:
    """The loss of `strukt.mappings.ksubset`; the target has entries from 0 to 1 that sum to k, a constant."""
    each = of_rows("k", k, x, options.get("dim", -1), 0.0, "0 or more")
    return _loss(x, target, mappings.ksubset, _half_square, each.detach(), options, constant=True)


def budget_loss(x: Tensor, target: Tensor, k: float | Tensor, **options: Unpack[Options]) -> Tensor:
    """The loss of `strukt.mappings.budget`; the target has entries from 0 to 1 that sum to at most k."""
    each = of_rows("k", k, x, options.get("dim", -1), 0.0, "0 or more")
    return _loss(x, target, mappings.budget, _half_square, each.detach(), options, constant=True)


def _half_square(p: Tensor, _: Tensor) -> Tensor:
    return 0.5 * p.square().sum(-1)


def _tsallis(p: Tensor, alpha: Tensor) -> Tensor:
    """The negative entropy ``(sum p ** alpha - sum p) / (alpha (alpha - 1))``; ``sum p log p`` at alpha = 1."""
    exponent = alpha.to(p.dtype).unsqueeze(-1)
    logs = torch.where(p > 0, p, 1.0).log()
    b = exponent - 1.0
    curved = torch.where(b > 0, b, 1.0)
    deformed = torch.where(b > 0, torch.expm1(curved * logs) / curved, logs)
    return (p * deformed / exponent).sum(-1)


def _norm(p: Tensor, alpha: Tensor) -> Tensor:
    exponent = alpha.to(p.dtype).unsqueeze(-1)
    used = p > 0
    powers = torch.where(used, torch.where(used, p, 1.0) ** exponent, 0.0).sum(-1, keepdim=True)
    return (torch.where(powers > 0, powers, 1.0) ** (1.0 / exponent) * (powers > 0)).squeeze(-1)


def _scores(x: Tensor, options: Options) -> Tensor:
    return to_rows(x, options.get("dim", -1), options.get("mask"))


def _within(x: Tensor, options: Options) -> Tensor:
    return _scores(x.detach(), options) > -torch.inf


def _loss(
    x: Tensor,
    target: Tensor,
    mapping: Callable[[Tensor, Tensor], Tensor],
    regulariser: Regulariser,
    parameter: Tensor,
    options: Options,
    constant: bool,
    by_class: ClassLoss | None = None,
) -> Tensor:
    """The loss of a mapping; ``by_class`` computes that for classes without a dense target."""
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise TypeError(
            f"unknown options {sorted(unknown)}; expected some of {sorted(Options.__annotations__)}"
        )
    axis, reduction = check(x, options.get("dim", -1)), options.get("reduction", "mean")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is {reduction!r}; expected 'mean', 'sum' or 'none'")
    smoothing = options.get("label_smoothing", 0.0)
    if not 0.0 <= smoothing <= 1.0:
        raise ValueError(f"label_smoothing is {smoothing}; expected a share from 0 to 1")
    scores = _scores(x, options)
    if target.is_floating_point():
        wanted = _points(target, x, axis, scores)
        counts = torch.ones(len(scores), dtype=torch.bool, device=x.device)
    else:
        classes, counts = _classes(target, x, axis, options)
    prediction = mapping(scores, parameter.unsqueeze(-1))
    if by_class is not None and not target.is_floating_point() and not smoothing:
        values = by_class(scores, prediction, classes, parameter).clamp(min=0.0)
    else:
        if not target.is_floating_point():
            wanted = torch.zeros_like(scores).scatter(-1, classes.unsqueeze(-1), 1.0)
        wanted = _smoothed(wanted, scores, smoothing) if smoothing else wanted
        values = loss(scores, prediction, wanted, regulariser, parameter, constant)
    rows = torch.where(counts, values, 0.0)
    found = rows.reshape(x.shape[:axis] + x.shape[axis + 1 :]).to(x.dtype)
    if reduction == "none":
        return found
    return found.sum() if reduction == "sum" else found.sum() / counts.sum().clamp(min=1)


def _points(target: Tensor, x: Tensor, axis: int, scores: Tensor) -> Tensor:
    """Target rows ``(rows, d)`` that are given as such."""
    if target.shape != x.shape:
        raise ValueError(f"target has shape {tuple(target.shape)}; expected that of x, {tuple(x.shape)}")
    return target.movedim(axis, -1).reshape(scores.shape).to(scores.dtype)


def _classes(target: Tensor, x: Tensor, axis: int, options: Options) -> tuple[Tensor, Tensor]:
    """Target classes ``(rows,)``, 0 where they do not count, and which of them count."""
    examples, d = x.shape[:axis] + x.shape[axis + 1 :], x.shape[axis]
    if target.shape != examples:
        raise ValueError(
            f"target has shape {tuple(target.shape)}; expected classes of shape {tuple(examples)}, or "
            f"probabilities of shape {tuple(x.shape)}"
        )
    classes = target.reshape(-1).long()
    counts = classes != options.get("ignore_index", -100)
    known = torch.where(counts, classes, 0)
    guards.require_values(known, (known >= 0) & (known < d), "target", f"classes from 0 to {d - 1}")
    return known, counts


def _smoothed(wanted: Tensor, scores: Tensor, smoothing: float) -> Tensor:
    open_ = (scores > -torch.inf).to(scores.dtype)
    share = open_ / open_.sum(-1, keepdim=True).clamp(min=1.0)
    return wanted + smoothing * (wanted.sum(-1, keepdim=True) * share - wanted)
