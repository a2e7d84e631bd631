"""Sparse mappings with groups of equal probabilities: at neighbouring positions (fusedmax), or any (oscarmax)."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels import fusedmax_oscarmax, sparsemax_entmax
from strukt.mappings.rows import WEIGHTS, of_rows, on_rows


def fusedmax(x: Tensor, weight: float | Tensor = 1.0, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Return sparsemax with a total variation penalty: neighbours with close scores share a probability.

        argmax over p in the simplex of  <p, x> - sum p ** 2 / 2 - weight sum_j |p_j - p_{j-1}|

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        weight: 0 or more, and finite; a number, or a tensor that broadcasts to ``x`` with size 1 along ``dim``.
            Differentiable.
        dim: The axis of the probabilities.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf: they have probability 0
            and separate their neighbours. If all are masked, all probabilities are 0. None for no mask.

    Returns:
        Probabilities in the shape and type of ``x``; NaN in a row with NaN or +inf. Differentiable any number of
        times.

    Complexity: Typically O(d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the shape or type of another argument does not fit, or ``dim``
            or ``weight`` is out of range.

    Source: Niculae and Blondel (2017).

    Examples:
        >>> import torch
        >>> fusedmax(torch.tensor([1.0, 0.8, 0.2, 0.5]), 0.1)
        tensor([0.5250, 0.4250, 0.0250, 0.0250])
    """
    return on_rows(x, dim, mask, fusedmax_of_rows, of_rows("weight", weight, x, dim, *WEIGHTS))


def oscarmax(x: Tensor, weight: float | Tensor = 1.0, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Return sparsemax with the OSCAR penalty: close scores share a probability, at any positions.

        argmax over p in the simplex of  <p, x> - sum p ** 2 / 2 - weight sum_{i<j} max(p_i, p_j)

    The published algorithm compares absolute scores and clips them at 0, so it returns this solution only if all
    scores are well above 0.

    Args:
        x: Scores, of any shape; half precision is computed in float32.
        weight: 0 or more, and finite; a number, or a tensor that broadcasts to ``x`` with size 1 along ``dim``.
            Differentiable.
        dim: The axis of the probabilities.
        mask: Boolean, broadcast to ``x``; scores where it is False are treated as -inf and have probability 0. If
            all are masked, all probabilities are 0. None for no mask.

    Returns:
        Probabilities in the shape and type of ``x``; NaN in a row with NaN or +inf. Differentiable any number of
        times.

    Complexity: O(d log d) for each row of d scores.

    Raises:
        ValueError: If ``x`` is not floating-point, the shape or type of another argument does not fit, or ``dim``
            or ``weight`` is out of range.

    Source: Niculae and Blondel (2017).

    Examples:
        >>> import torch
        >>> oscarmax(torch.tensor([1.0, -1.0, 0.8]), 0.1)
        tensor([0.5500, 0.0000, 0.4500])
        >>> oscarmax(torch.tensor([1.0, -1.0, 0.8]), 0.3)
        tensor([0.5000, 0.0000, 0.5000])
    """
    return on_rows(x, dim, mask, oscarmax_of_rows, of_rows("weight", weight, x, dim, *WEIGHTS))


def fusedmax_of_rows(scores: Tensor, weight: Tensor) -> Tensor:
    """Return `fusedmax` of rows ``(rows, d)``, with a weight for each, ``(rows,)``, that is not checked."""
    return _sparsemax(fusedmax_oscarmax.variation(scores, weight))


def oscarmax_of_rows(scores: Tensor, weight: Tensor) -> Tensor:
    """Return `oscarmax` of rows ``(rows, d)``, with a weight for each, ``(rows,)``, that is not checked."""
    return _sparsemax(fusedmax_oscarmax.oscar(scores, weight))


def _sparsemax(rows: Tensor) -> Tensor:
    return sparsemax_entmax.entmax(
        rows, torch.full((len(rows),), 2.0, dtype=torch.float64, device=rows.device)
    )
