"""Mappings from scores to probabilities, many of them exactly 0: sparsemax, entmax, normmax."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels import sparsemax_entmax
from strukt.mappings.rows import NORMS, capped, check_cap, of_rows, on_rows


def entmax(
    x: Tensor,
    alpha: float | Tensor = 1.5,
    dim: int = -1,
    mask: Tensor | None = None,
    max_support: int | None = None,
) -> Tensor:
    """Return the entmax of scores: softmax for alpha = 1, sparsemax for alpha = 2, sparse for any alpha above 1.

        argmax over p in the simplex of  <p, x> - (sum p ** alpha - 1) / (alpha (alpha - 1))

    For alpha below 1, every score above -inf has a positive probability, which decays as a power of the distance
    from the largest score: the tails are heavier than those of softmax, which decay exponentially.

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        alpha: Above 0 and finite; a number, or a tensor that broadcasts to ``x`` with size 1 along ``dim``, for
            instance ``(heads, 1, 1)``. Differentiable.
        dim: The axis of the probabilities.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf and have probability 0. If
            all are masked, all probabilities are 0. None for no mask.
        max_support: Maximum number of positive probabilities; only the largest scores then count, with ties
            broken arbitrarily. None for no maximum.

    Returns:
        Probabilities in the shape and type of ``x``; NaN in a row with NaN or +inf. Differentiable any number of
        times, with the support held fixed.

    Complexity: Typically O(d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the shape or type of another argument does not fit, or ``dim``,
            ``alpha`` or ``max_support`` is out of range.

    Sources: Peters, Niculae and Martins (2019); Correia, Niculae and Martins (2019) for the gradient with respect
    to alpha.

    Examples:
        >>> import torch
        >>> x = torch.tensor([1.0, 0.8, -1.0])
        >>> entmax(x, 1.5)
        tensor([0.5705, 0.4295, 0.0000])
        >>> entmax(x, 2.0, mask=torch.tensor([True, False, True]))
        tensor([1., 0., 0.])
        >>> entmax(10 * x, 0.5)
        tensor([0.7730, 0.2189, 0.0081])
    """
    check_cap(max_support)
    expected = "a finite number above 0 (1 is softmax)"
    rows = of_rows("alpha", alpha, x, dim, 0.0, expected, torch.inf, strict=True)
    return on_rows(
        x, dim, mask, lambda row, each: sparsemax_entmax.entmax(capped(row, max_support), each), rows
    )


def sparsemax(x: Tensor, dim: int = -1, mask: Tensor | None = None, max_support: int | None = None) -> Tensor:
    """Return the point of the simplex nearest to the scores (Martins and Astudillo 2016): `entmax` with alpha = 2.

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        dim: The axis of the probabilities.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf and have probability 0. If
            all are masked, all probabilities are 0. None for no mask.
        max_support: Maximum number of positive probabilities; only the largest scores then count, with ties
            broken arbitrarily. None for no maximum.

    Returns:
        Probabilities in the shape and type of ``x``; NaN in a row with NaN or +inf. Differentiable any number of
        times, with the support held fixed.

    Complexity: Typically O(d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the mask does not fit, or ``dim`` or ``max_support`` is out of
            range.

    Examples:
        >>> import torch
        >>> sparsemax(torch.tensor([1.0, 0.8, -1.0]))
        tensor([0.6000, 0.4000, 0.0000])
    """
    return entmax(x, 2.0, dim, mask, max_support)


def entmax15(x: Tensor, dim: int = -1, mask: Tensor | None = None, max_support: int | None = None) -> Tensor:
    """Return `entmax` with alpha = 1.5, halfway between softmax and sparsemax.

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        dim: The axis of the probabilities.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf and have probability 0. If
            all are masked, all probabilities are 0. None for no mask.
        max_support: Maximum number of positive probabilities; only the largest scores then count, with ties
            broken arbitrarily. None for no maximum.

    Returns:
        Probabilities in the shape and type of ``x``; NaN in a row with NaN or +inf. Differentiable any number of
        times, with the support held fixed.

    Complexity: Typically O(d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the mask does not fit, or ``dim`` or ``max_support`` is out of
            range.

    Source: Peters, Niculae and Martins (2019).

    Examples:
        >>> import torch
        >>> entmax15(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), dim=0)
        tensor([[0.8307, 0.5000],
                [0.1693, 0.5000]])
    """
    return entmax(x, 1.5, dim, mask, max_support)


def normmax(
    x: Tensor,
    alpha: float | Tensor = 2.0,
    dim: int = -1,
    mask: Tensor | None = None,
    max_support: int | None = None,
) -> Tensor:
    """Return the normmax of scores: the argmax over the simplex, regularised by an alpha-norm.

        argmax over p in the simplex of  <p, x> - (sum p ** alpha) ** (1 / alpha)

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        alpha: Above 1 and finite; a number, or a tensor that broadcasts to ``x`` with size 1 along ``dim``.
            Towards infinity, the probabilities of the support become equal. Differentiable.
        dim: The axis of the probabilities.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf and have probability 0. If
            all are masked, all probabilities are 0. None for no mask.
        max_support: Maximum number of positive probabilities; only the largest scores then count, with ties
            broken arbitrarily. None for no maximum.

    Returns:
        Probabilities in the shape and type of ``x``; NaN in a row with NaN or +inf. Differentiable any number of
        times, with the support held fixed.

    Complexity: Typically O(d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the shape or type of another argument does not fit, or ``dim``,
            ``alpha`` or ``max_support`` is out of range.

    Source: Blondel, Martins and Niculae (2020).

    Examples:
        >>> import torch
        >>> normmax(torch.tensor([1.0, 0.8, -1.0]), 2.0)
        tensor([0.5714, 0.4286, 0.0000])
    """
    check_cap(max_support)
    rows = of_rows("alpha", alpha, x, dim, *NORMS, strict=True)
    return on_rows(
        x, dim, mask, lambda row, each: sparsemax_entmax.normmax(capped(row, max_support), each), rows
    )
