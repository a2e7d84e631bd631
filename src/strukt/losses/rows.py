"""The losses of vectors as losses of rows: options, checks of targets, terms of Omega, and the mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor

from strukt.checks.validation import validates
from strukt.kernels.sparsemax_entmax.derivatives import alpha_norm
from strukt.losses.fenchel_young import Extra, loss
from strukt.losses.targets import classes_of, points_of, require_kind, smoothed
from strukt.mappings.rows import check, of_rows, to_rows


class Options(TypedDict, total=False):
    """The options of all losses of vectors.

    Attributes:
        dim: The axis of the scores of one example; the last one by default.
        mask: Boolean, broadcast to the scores; scores where it is False are treated as -inf. If None, the default,
            no score is masked.
        reduction: ``"mean"`` (default) over the examples that are not ignored, 0 if all are; ``"sum"``; or
            ``"none"``.
        ignore_index: Examples with this target class have loss 0 and do not count in the mean; -100 by default.
        label_smoothing: The share of the target, from 0 to 1, that is spread evenly over all scores above -inf,
            except masked ones; 0 by default.
        validate_args: Whether to check values as well as shapes, which waits for a GPU; on by default, see
            `strukt.set_default_validate_args`. Parameters that are plain numbers, and classes on the CPU, are
            always checked.

    Examples:
        >>> from strukt.losses import sparsemax_loss
        >>> options: Options = {"reduction": "sum", "ignore_index": 0}
        >>> sparsemax_loss(torch.tensor([[3.0, 1.0], [1.0, 1.5]]), torch.tensor([0, 1]), **options)
        tensor(0.0625)
    """

    dim: int
    mask: Tensor | None
    reduction: str
    ignore_index: int
    label_smoothing: float
    validate_args: bool | None


def parameter_of_rows(
    name: str,
    value: float | Tensor,
    x: Tensor,
    options: Options,
    least: float,
    expected: str,
    below: float | None = None,
    strict: bool = False,
) -> Tensor:
    """Return one parameter for each row, ``(rows,)``, as a floating-point tensor.

    The options set the axis of rows, and whether the values of a tensor are checked. Other arguments and errors
    are those of `strukt.mappings.rows.of_rows`.
    """
    dim, checked = options.get("dim", -1), _checks_values(options)
    rows = of_rows(name, value, x, dim, least, expected, below, strict, checked)
    return rows.to(torch.promote_types(rows.dtype, torch.float32))


def _checks_values(options: Options) -> bool:
    return validates(options.get("validate_args"))


def _scores(x: Tensor, options: Options) -> Tensor:
    return to_rows(x, options.get("dim", -1), options.get("mask"))


def within(x: Tensor, options: Options) -> Tensor:
    """Return the mask ``(rows, d)`` of the scores above -inf; masked scores count as -inf."""
    return _scores(x.detach(), options) > -torch.inf


def loss_of_rows(
    x: Tensor,
    target: Tensor,
    mapping: Callable[[Tensor, Tensor], Tensor],
    parameter: Tensor,
    options: Options,
    constant: bool,
    alpha: float | None = None,
    extra: Extra | None = None,
    on_simplex: bool = True,
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
        on_simplex: Whether predictions are probabilities; if not, they are points with entries up to 1.

    Raises:
        ValueError: If a shape or type does not fit, an option or a target is out of range, or the target requires
            a gradient.
        TypeError: If an option is unknown.
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
        targets = points_of(target, x, axis, scores, _checks_values(options), on_simplex)
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
    values = loss(scores, prediction, targets, parameter, alphas, extra, constant, on_simplex)
    rows = torch.where(counts, values, 0.0)
    result = rows.reshape(x.shape[:axis] + x.shape[axis + 1 :]).to(x.dtype)
    if reduction == "none":
        return result
    return result.sum() if reduction == "sum" else result.sum() / counts.sum().clamp(min=1)


def half_sum(p: Tensor, _: Tensor) -> Tensor:
    """Return half the sum of each row of p, ``(rows,)``: an extra term of Omega.

    Added to the negative Tsallis entropy with alpha = 2, it makes Omega half the squared norm.
    """
    return 0.5 * p.sum(-1)


def norm(p: Tensor, alpha: Tensor) -> Tensor:
    """Return the alpha-norm of each row of p, ``(rows,)``: an extra term of Omega."""
    return alpha_norm(p, alpha.to(p.dtype))
