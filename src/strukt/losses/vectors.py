"""Fenchel-Young losses of the mappings of vectors: sparsemax, entmax, normmax, fusedmax, oscarmax, subsets."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from typing_extensions import Unpack

from strukt.kernels import capped_simplex, sparsemax_entmax
from strukt.losses.rows import Options, half_sum, loss_of_rows, norm, parameter_of_rows, within
from strukt.mappings.fusedmax_oscarmax import fusedmax_of_rows, oscarmax_of_rows
from strukt.mappings.ksubset_budget import budget_of_rows
from strukt.mappings.rows import NORMS, WEIGHTS


def entmax_loss(x: Tensor, target: Tensor, alpha: float | Tensor = 1.5, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.entmax`; cross-entropy at alpha = 1.

    With probabilities or ``label_smoothing``, the loss at alpha = 1 is cross-entropy minus the entropy of the
    target: it has the same gradient, and its minimum is 0.

    For alpha above 1, the loss is exactly 0 if the score of the target class exceeds all others by at least
    1 / (alpha - 1).

    Args:
        x: Scores, of any shape. An example with a score of NaN or +inf has the loss NaN.
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
    each = parameter_of_rows("alpha", alpha, x, options, 0.0, expected, torch.inf, strict=True)
    return loss_of_rows(x, target, sparsemax_entmax.entmax, each, options, not isinstance(alpha, Tensor))


def sparsemax_loss(x: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of sparsemax (Martins and Astudillo 2016): `entmax_loss` with alpha = 2.

    The loss is exactly 0 if the score of the target class exceeds all others by at least 1.

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without ``dim``, or probabilities in the shape of ``x``, as for
            `entmax_loss`.
        options: ``dim``, ``mask``, ``reduction`` and others; see `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``.

    Raises:
        ValueError: As for `entmax_loss`.
        TypeError: If an option is unknown.

    Complexity: Typically O(d) for each example with d scores.

    Examples:
        >>> import torch
        >>> sparsemax_loss(torch.tensor([[3.0, 1.0], [1.0, 1.5]]), torch.tensor([0, 0]), reduction="none")
        tensor([0.0000, 0.5625])
    """
    return entmax_loss(x, target, 2.0, **options)


def entmax15_loss(x: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.entmax15`: `entmax_loss` with alpha = 1.5.

    The loss is exactly 0 if the score of the target class exceeds all others by at least 2.

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without ``dim``, or probabilities in the shape of ``x``, as for
            `entmax_loss`.
        options: ``dim``, ``mask``, ``reduction`` and others; see `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``.

    Raises:
        ValueError: As for `entmax_loss`.
        TypeError: If an option is unknown.

    Complexity: Typically O(d) for each example with d scores.

    Source: Peters, Niculae and Martins (2019).

    Examples:
        >>> import torch
        >>> scores = torch.tensor([[3.0, 1.0], [3.0, 2.0]])  # with margins of 2 and 1
        >>> entmax15_loss(scores, torch.tensor([0, 0]), reduction="none")
        tensor([0.0000, 0.0617])
    """
    return entmax_loss(x, target, 1.5, **options)


def normmax_loss(
    x: Tensor, target: Tensor, alpha: float | Tensor = 2.0, **options: Unpack[Options]
) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.normmax`.

    The loss is exactly 0 if the score of the target class exceeds all others by at least 1.

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without ``dim``, or probabilities in the shape of ``x``, as for
            `entmax_loss`.
        alpha: The exponent of the norm, above 1 and finite, as for `strukt.mappings.normmax`; differentiable.
        options: ``dim``, ``mask``, ``reduction`` and others; see `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``.

    Raises:
        ValueError: As for `entmax_loss`; or if ``alpha`` is out of range.
        TypeError: If an option is unknown.

    Complexity: Typically O(d) for each example with d scores.

    Source: Blondel, Martins and Niculae (2020).

    Examples:
        >>> import torch
        >>> scores = torch.tensor([[3.0, 2.0], [3.0, 2.5]])  # with margins of 1 and 0.5
        >>> normmax_loss(scores, torch.tensor([0, 0]), reduction="none")
        tensor([0.0000, 0.0886])
    """
    each = parameter_of_rows("alpha", alpha, x, options, *NORMS, strict=True)
    known = not isinstance(alpha, Tensor)
    return loss_of_rows(x, target, sparsemax_entmax.normmax, each, options, known, math.inf, norm)


def fusedmax_loss(
    x: Tensor, target: Tensor, weight: float | Tensor = 1.0, **options: Unpack[Options]
) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.fusedmax`.

    A masked score is ignored together with its differences from its neighbours.

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without ``dim``, or probabilities in the shape of ``x``, as for
            `entmax_loss`.
        weight: The weight of the total variation, 0 or more, as for `strukt.mappings.fusedmax`; differentiable.
        options: ``dim``, ``mask``, ``reduction`` and others; see `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``.

    Raises:
        ValueError: As for `entmax_loss`; or if ``weight`` is out of range.
        TypeError: If an option is unknown.

    Complexity: Typically O(d) for each example with d scores.

    Sources: Niculae and Blondel (2017) for the mapping; Blondel, Martins and Niculae (2020) for the loss.

    Examples:
        >>> import torch
        >>> fusedmax_loss(torch.tensor([[1.0, 0.5, 0.0]]), torch.tensor([[0.5, 0.5, 0.0]]))
        tensor(0.3333)
    """
    each = parameter_of_rows("weight", weight, x, options, *WEIGHTS)
    near = within(x, options)

    def variation(p: Tensor, weight: Tensor) -> Tensor:
        steps = torch.where(near[..., 1:] & near[..., :-1], (p[..., 1:] - p[..., :-1]).abs(), 0.0)
        return weight.to(p.dtype) * steps.sum(-1)

    return loss_of_rows(x, target, fusedmax_of_rows, each, options, not isinstance(weight, Tensor), 2.0, variation)


def oscarmax_loss(
    x: Tensor, target: Tensor, weight: float | Tensor = 1.0, **options: Unpack[Options]
) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.oscarmax`.

    Args:
        x: Scores, of any shape.
        target: Classes in the shape of ``x`` without ``dim``, or probabilities in the shape of ``x``, as for
            `entmax_loss`.
        weight: The weight of the OSCAR penalty, 0 or more, as for `strukt.mappings.oscarmax`; differentiable.
        options: ``dim``, ``mask``, ``reduction`` and others; see `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``.

    Raises:
        ValueError: As for `entmax_loss`; or if ``weight`` is out of range.
        TypeError: If an option is unknown.

    Complexity: O(d log d) for each example with d scores.

    Sources: Niculae and Blondel (2017) for the mapping; Blondel, Martins and Niculae (2020) for the loss.

    Examples:
        >>> import torch
        >>> scores, target = torch.tensor([[1.0, -1.0, 0.8]]), torch.tensor([[0.5, 0.0, 0.5]])
        >>> oscarmax_loss(scores, target, 0.3), oscarmax_loss(scores, target, 0.0)
        (tensor(0.), tensor(0.0100))
    """
    each = parameter_of_rows("weight", weight, x, options, *WEIGHTS)
    ranks = torch.arange(x.shape[options.get("dim", -1)], device=x.device)
    below = within(x, options).sum(-1, keepdim=True) - 1 - ranks

    def pairs(p: Tensor, weight: Tensor) -> Tensor:
        largest = p.sort(dim=-1, descending=True).values
        return weight.to(p.dtype) * (below.clamp(min=0) * largest).sum(-1)

    return loss_of_rows(x, target, oscarmax_of_rows, each, options, not isinstance(weight, Tensor), 2.0, pairs)


def ksubset_loss(x: Tensor, target: Tensor, k: float | Tensor, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.ksubset`.

    Args:
        x: Scores, of any shape.
        target: Points in the shape of ``x``, with entries from 0 to 1 that sum to k; must not require a
            gradient. The sum is not checked.
        k: The number of items, 0 or more, as for `strukt.mappings.ksubset`; gets no gradient.
        options: ``dim``, ``mask``, ``reduction`` and others; see `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``.

    Raises:
        ValueError: As for `entmax_loss`; or if ``k`` is out of range.
        TypeError: If an option is unknown.

    Complexity: Typically O(d) for each example with d scores.

    Source: Blondel, Martins and Niculae (2020), for the loss.

    Examples:
        >>> import torch
        >>> target = torch.tensor([[1.0, 1.0, 0.0]])
        >>> ksubset_loss(torch.tensor([[2.0, 1.0, -1.0]]), target, 2)  # the best two items, by a margin of 2
        tensor(0.)
        >>> ksubset_loss(torch.tensor([[2.0, -1.0, 1.0]]), target, 2)
        tensor(2.)
    """
    each = parameter_of_rows("k", k, x, options, 0.0, "0 or more")
    return loss_of_rows(
        x, target, capped_simplex.subset, each.detach(), options, True, 2.0, half_sum, on_simplex=False
    )


def budget_loss(x: Tensor, target: Tensor, k: float | Tensor, **options: Unpack[Options]) -> Tensor:
    """Return the Fenchel-Young loss of `strukt.mappings.budget`.

    Args:
        x: Scores, of any shape.
        target: Points in the shape of ``x``, with entries from 0 to 1 that sum to at most k; must not require
            a gradient. The sum is not checked.
        k: The largest number of items, 0 or more, as for `strukt.mappings.budget`; gets no gradient.
        options: ``dim``, ``mask``, ``reduction`` and others; see `Options`.

    Returns:
        A number; with ``reduction="none"``, a loss for each example, in the shape of ``x`` without ``dim``.

    Raises:
        ValueError: As for `entmax_loss`; or if ``k`` is out of range.
        TypeError: If an option is unknown.

    Complexity: Typically O(d) for each example with d scores.

    Source: Blondel, Martins and Niculae (2020), for the loss.

    Examples:
        >>> import torch
        >>> target = torch.tensor([[1.0, 0.0, 0.0]])
        >>> budget_loss(torch.tensor([[2.0, -1.0, -1.0]]), target, 2)
        tensor(0.)
        >>> budget_loss(torch.tensor([[2.0, 1.0, -1.0]]), target, 2)
        tensor(0.5000)
    """
    each = parameter_of_rows("k", k, x, options, 0.0, "0 or more")
    return loss_of_rows(x, target, budget_of_rows, each.detach(), options, True, 2.0, half_sum, on_simplex=False)
