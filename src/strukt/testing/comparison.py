"""Comparisons whose errors name the broken law, the structure and the batch item."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd import grad

from strukt.testing.subject import Case

TOLERANCES = {torch.float64: (1e-10, 1e-10), torch.float32: (1e-4, 1e-5)}
"""The relative and the absolute tolerance for each type; values of other types must be equal."""


def demand(holds: bool | Tensor, case: Case, claim: str) -> None:
    """Raise AssertionError naming the structure and the claim unless it holds."""
    if not holds:
        raise AssertionError(f"{case.subject.name}: {claim}")


def agree(case: Case, claim: str, actual: Tensor, expected: Sequence[Tensor] | Tensor) -> None:
    """Raise AssertionError if shapes differ, or for the first item in which ``actual`` differs from ``expected``.

    Args:
        case: The case that was computed; ``actual`` starts with its batch dimensions.
        claim: The claim, as in "entropy agrees with enumeration".
        actual: The value that the distribution returned; its dtype determines the tolerance.
        expected: The true value, as a sequence in the order of ``case.indices``, or as a tensor for the whole
            batch.
    """
    if not isinstance(expected, Tensor):
        expected = torch.stack(list(expected)) if len(expected) else actual
        expected = expected.reshape(*case.batch_shape, *expected.shape[1:])
    demand(
        actual.shape == expected.shape,
        case,
        f"{claim}: the shape is {tuple(actual.shape)}, it should be {tuple(expected.shape)}",
    )
    relative, absolute = TOLERANCES.get(actual.dtype, (0.0, 0.0))
    right = torch.isclose(actual, expected.to(actual.dtype), rtol=relative, atol=absolute)
    for index in case.indices:
        demand(
            right[index].all(),
            case,
            f"{claim}: item {index} of batch {case.batch_shape}, length {int(case.lengths[index])}, "
            f"gives {actual[index].tolist()}, it should be {expected[index].tolist()}",
        )


Derivatives = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]
"""The gradients of a number with respect to some leaves, and the gradients of the sum of their squares."""


def derivatives(number: Tensor, leaves: Sequence[Tensor]) -> Derivatives:
    """Return the gradients of a number with respect to leaves, and the gradients of the sum of their squares."""
    first = grad(number, leaves, create_graph=True, materialize_grads=True)
    squares = torch.stack([gradient.square().sum() for gradient in first]).sum()
    if not squares.requires_grad:
        return first, tuple(torch.zeros_like(leaf) for leaf in leaves)
    return first, grad(squares, leaves, retain_graph=True, materialize_grads=True)


def derivatives_agree(case: Case, claim: str, actual: Derivatives, expected: Derivatives) -> None:
    """Raise AssertionError if a derivative is NaN, or differs from the expected one.

    Args:
        case: The batch, in which one item must have derivative 0.
        claim: Names the operator and this item.
        actual: The derivatives for the whole batch.
        expected: The derivatives for the batch without this item.
    """
    for order, pairs in enumerate(zip(actual, expected, strict=True), start=1):
        for gradient, true in zip(*pairs, strict=True):
            demand(not gradient.isnan().any(), case, f"{claim}: derivative {order} is never NaN")
            right = torch.allclose(gradient, true)
            demand(right, case, f"{claim}: derivative {order} is 0 in it, and right in its neighbours")
