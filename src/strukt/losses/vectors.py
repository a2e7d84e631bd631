"""Fenchel-Young losses of the mappings of vectors: sparsemax, entmax, normmax, fusedmax, oscarmax, subsets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor
from typing_extensions import Unpack

from strukt.checks.validation import validates
from strukt.kernels import capped_simplex, sparsemax_entmax
from strukt.losses.fenchel_young import Extra, loss
from strukt.losses.targets import classes_of, points_of, require_kind, smoothed
from strukt.mappings.fusedmax_oscarmax import fusedmax_of_rows, oscarmax_of_rows
from strukt.mappings.ksubset_budget import budget_of_rows
from strukt.mappings.rows import NORMS, WEIGHTS, check, of_rows, to_rows


class Options(TypedDict, total=False):
    """The options of all losses of vectors.

    Attributes:
        dim: The axis of the scores of one example; the last one by default.
        mask: Boolean, broadcast to the scores; scores where it is False are treated as -inf. If None, the default,
            no score is masked.
        reduction: ``"mean"`` (default) over the examples that are not ignored, ``"sum"``, or ``"none"``.
        ignore_index: Examples with this target class have loss 0 and do not count in the mean; -100 by default.
        label_smoothing: The share of the target, from 0 to 1, that is spread evenly over all scores above -inf,
            except masked ones; 0 by default.
        validate_args: Whether to check values as well as shapes, which waits for a GPU; on by default, see
            `strukt.set_default_validate_args`. Parameters that are plain numbers, and classes on the CPU, are
            always checked.
    """

    dim: int
    mask: Tensor | None
    reduction: str
    ignore_index: int
    label_smoothing: float
    validate_args: bool | None


def entmax_loss(x: Tensor, target: Tensor, alpha: float | Tensor = 1.5, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.entmax`; cross-entropy at alpha = 1.

    With probabilities or ``label_smoothing``, the loss at alpha = 1 is cross-entropy minus the entropy of the
    target: it has the same gradient, and its minimum is 0.

    For alpha above 1, the loss is exactly 0 if the score of the target class exceeds all others by at least
    1 / (alpha - 1).

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without ``dim``, or probabilities in the shape of ``x``, whose sum is
            not checked; must not require a gradient. A target with a score of -inf has an infinite loss.
        alpha: The exponent, as for `strukt.mappings.entmax`; differentiable.
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``. The
        gradient of the loss of an example with respect to its scores is the prediction minus the target.

    Raises:
        ValueError: If a shape or type does not fit, ``alpha``, a target or an option is out of range, or the
            target requires a gradient.
        TypeError: If an option is unknown.

    Complexity: Typically O(d) for each example with d scores.

    Sources: Peters, Niculae and Martins (2019); Blondel, Martins and Niculae (2020).

    Examples:
        >>> import torch
        >>> scores = torch.tensor([[2.0, 1.0, -1.0]], requires_grad=True)
        >>> entmax_loss(scores, torch.tensor([1])).backward()
        >>> scores.grad
        tensor([[ 0.8307, -0.8307,  0.0000]])
    """
    expected = "a finite number above 0 (1 is cross-entropy)"
    each = _parameter("alpha", alpha, x, options, 0.0, expected, torch.inf, strict=True)
    return _loss(x, target, sparsemax_entmax.entmax, each, options, not isinstance(alpha, Tensor))


def sparsemax_loss(x: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """Return `entmax_loss` with alpha = 2 (Martins and Astudillo 2016).

    Arguments, result and errors are those of `entmax_loss`.

    Examples:
        >>> import torch
        >>> sparsemax_loss(torch.tensor([[3.0, 1.0], [1.0, 1.5]]), torch.tensor([0, 0]), reduction="none")
        tensor([0.0000, 0.5625])
    """
    return entmax_loss(x, target, 2.0, **options)


def entmax15_loss(x: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """Return `entmax_loss` with alpha = 1.5 (Peters, Niculae and Martins 2019).

    Arguments, result and errors are those of `entmax_loss`.

    Examples:
        >>> import torch
        >>> entmax15_loss(torch.tensor([[3.0, 1.0]]), torch.tensor([0]))  # the margin is 2
        tensor(0.)
    """
    return entmax_loss(x, target, 1.5, **options)


def normmax_loss(
    x: Tensor, target: Tensor, alpha: float | Tensor = 2.0, **options: Unpack[Options]
) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.normmax`, whose alpha it takes.

    All other arguments, the result and the errors are those of `entmax_loss`. The loss is exactly 0 if the score
    of the target class exceeds all others by at least 1.

    Examples:
        >>> import torch
        >>> normmax_loss(torch.tensor([[3.0, 1.0]]), torch.tensor([0]))
        tensor(0.)
    """
    each = _parameter("alpha", alpha, x, options, *NORMS, strict=True)
    known = not isinstance(alpha, Tensor)
    return _loss(x, target, sparsemax_entmax.normmax, each, options, known, math.inf, _norm)


def fusedmax_loss(
    x: Tensor, target: Tensor, weight: float | Tensor = 1.0, **options: Unpack[Options]
) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.fusedmax`, whose weight it takes.

    All other arguments, the result and the errors are those of `entmax_loss`. A masked score is ignored together
    with its differences from its neighbours.

    Examples:
        >>> import torch
        >>> fusedmax_loss(torch.tensor([[1.0, 0.5, 0.0]]), torch.tensor([[0.5, 0.5, 0.0]]))
        tensor(0.3333)
    """
    each = _parameter("weight", weight, x, options, *WEIGHTS)
    within = _within(x, options)

    def variation(p: Tensor, weight: Tensor) -> Tensor:
        steps = torch.where(within[..., 1:] & within[..., :-1], (p[..., 1:] - p[..., :-1]).abs(), 0.0)
        return weight.to(p.dtype) * steps.sum(-1)

    return _loss(x, target, fusedmax_of_rows, each, options, not isinstance(weight, Tensor), 2.0, variation)


def oscarmax_loss(
    x: Tensor, target: Tensor, weight: float | Tensor = 1.0, **options: Unpack[Options]
) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.oscarmax`, whose weight it takes.

    All other arguments, the result and the errors are those of `entmax_loss`.

    Examples:
        >>> import torch
        >>> oscarmax_loss(torch.tensor([[1.0, -1.0, 0.8]]), torch.tensor([[0.5, 0.0, 0.5]]), 0.3)
        tensor(0.)
    """
    each = _parameter("weight", weight, x, options, *WEIGHTS)
    ranks = torch.arange(x.shape[options.get("dim", -1)], device=x.device)
    below = _within(x, options).sum(-1, keepdim=True) - 1 - ranks

    def pairs(p: Tensor, weight: Tensor) -> Tensor:
        largest = p.sort(dim=-1, descending=True).values
        return weight.to(p.dtype) * (below.clamp(min=0) * largest).sum(-1)

    return _loss(x, target, oscarmax_of_rows, each, options, not isinstance(weight, Tensor), 2.0, pairs)


def ksubset_loss(x: Tensor, target: Tensor, k: float | Tensor, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.ksubset`.

    Targets are points with entries from 0 to 1 that sum to k (the sum is not checked); k gets no gradient. All
    other arguments, the result and the errors are those of `entmax_loss`.

    Examples:
        >>> import torch
        >>> ksubset_loss(torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([[1.0, 1.0, 0.0]]), 2)
        tensor(0.)
    """
    each = _parameter("k", k, x, options, 0.0, "0 or more")
    return _loss(x, target, capped_simplex.subset, each.detach(), options, True, 2.0, _half_sum)


def budget_loss(x: Tensor, target: Tensor, k: float | Tensor, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.budget`.

    Targets are points with entries from 0 to 1 that sum to at most k (the sum is not checked); k gets no gradient.
    All other arguments, the result and the errors are those of `entmax_loss`.

    Examples:
        >>> import torch
        >>> budget_loss(torch.tensor([[2.0, -1.0, -1.0]]), torch.tensor([[1.0, 0.0, 0.0]]), 2)
        tensor(0.)
    """
    each = _parameter("k", k, x, options, 0.0, "0 or more")
    return _loss(x, target, budget_of_rows, each.detach(), options, True, 2.0, _half_sum)


def _half_sum(p: Tensor, _: Tensor) -> Tensor:
    """Return half the sum of p; plus the negative Tsallis entropy for alpha = 2, this is half the squared norm."""
    return 0.5 * p.sum(-1)


def _norm(p: Tensor, alpha: Tensor) -> Tensor:
    exponent = alpha.to(p.dtype).unsqueeze(-1)
    used = p > 0
    powers = torch.where(used, torch.where(used, p, 1.0) ** exponent, 0.0).sum(-1, keepdim=True)
    return (torch.where(powers > 0, powers, 1.0) ** (1.0 / exponent) * (powers > 0)).squeeze(-1)


def _parameter(
    name: str,
    value: float | Tensor,
    x: Tensor,
    options: Options,
    least: float,
    expected: str,
    below: float | None = None,
    strict: bool = False,
) -> Tensor:
    """Return one parameter for each row, ``(rows,)``, as `of_rows` does."""
    dim, checked = options.get("dim", -1), _checks_values(options)
    return of_rows(name, value, x, dim, least, expected, below, strict, checked)


def _checks_values(options: Options) -> bool:
    return validates(options.get("validate_args"))


def _scores(x: Tensor, options: Options) -> Tensor:
    return to_rows(x, options.get("dim", -1), options.get("mask"))


def _within(x: Tensor, options: Options) -> Tensor:
    return _scores(x.detach(), options) > -torch.inf


def _loss(
    x: Tensor,
    target: Tensor,
    mapping: Callable[[Tensor, Tensor], Tensor],
    parameter: Tensor,
    options: Options,
    constant: bool,
    alpha: float | None = None,
    extra: Extra | None = None,
) -> Tensor:
    """Return the loss of any mapping, reduced over the examples.

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without ``dim``, or points in the shape of ``x``.
        mapping: Function of rows ``(rows, d)`` and the parameter ``(rows,)`` to predictions, without checks.
        parameter: ``(rows,)``, the parameter of the mapping.
        options: The options of the caller.
        constant: Whether the parameter is a constant that needs no gradient.
        alpha: The exponent of the entropy; by default the parameter.
        extra: As for `strukt.losses.fenchel_young.loss`.
    """
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise TypeError(
            f"unknown options {sorted(unknown)}; expected options among {sorted(Options.__annotations__)}"
        )
    axis, reduction = check(x, options.get("dim", -1)), options.get("reduction", "mean")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is {reduction!r}; expected 'mean', 'sum' or 'none'")
    smoothing = options.get("label_smoothing", 0.0)
    if not 0.0 <= smoothing <= 1.0:
        raise ValueError(f"label_smoothing is {smoothing}; expected a number from 0 to 1")
    require_kind(target)
    scores = _scores(x, options)
    if target.is_floating_point():
        targets = points_of(target, x, axis, scores, _checks_values(options))
        counts = torch.ones(len(scores), dtype=torch.bool, device=x.device)
    else:
        ignored = options.get("ignore_index", -100)
        targets, counts = classes_of(target, x, axis, ignored, _checks_values(options))
    if smoothing:
        targets = smoothed(targets, scores.detach(), smoothing)
    elif extra is not None and not target.is_floating_point():
        targets = smoothed(targets, scores.detach(), 0.0)
    prediction = mapping(scores, parameter)
    alphas = None if alpha is None else torch.full_like(parameter, alpha, requires_grad=False)
    values = loss(scores, prediction, targets, parameter, alphas, extra, constant)
    rows = torch.where(counts, values, 0.0)
    result = rows.reshape(x.shape[:axis] + x.shape[axis + 1 :]).to(x.dtype)
    if reduction == "none":
        return result
    return result.sum() if reduction == "sum" else result.sum() / counts.sum().clamp(min=1)
