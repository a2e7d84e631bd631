"""Checks of score tensors: shapes, types and devices."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.checks import guards
from strukt.checks.arguments.shapes import any_of, as_tensor_remedy
from strukt.kernels import dispatch, magnitude
from strukt.kernels.autograd import is_plain


def scores(name: str, value: Tensor, axes: str, dim: int) -> None:
    """Check that a score tensor is a dense floating-point tensor with data and at least ``dim`` axes.

    Args:
        name: Name of the scores in error messages.
        value: The scores.
        axes: The expected shape, for error messages.
        dim: The least number of axes.

    Raises:
        ValueError: If the value is not a tensor, is not floating-point, is sparse, nested or on the meta device,
            or has too few axes.

    Examples:
        >>> scores("unary", torch.zeros(5, 3), "batch + (n, c)", dim=2)
        >>> scores("unary", torch.zeros(5), "batch + (n, c)", dim=2)
        Traceback (most recent call last):
        ValueError: unary has shape (5,); expected batch + (n, c)
    """
    if not isinstance(value, Tensor):
        remedy = as_tensor_remedy(name, value)
        raise ValueError(
            f"{name} is a {type(value).__name__}; expected a floating-point tensor of shape {axes}{remedy}"
        )
    if not value.is_floating_point():
        remedy = f"{name}.real" if value.is_complex() else f"{name}.float()"
        raise ValueError(f"{name} has dtype {value.dtype}; expected a floating-point tensor, e.g. {remedy}")
    if value.layout is not torch.strided:
        remedy = "torch.nested.to_padded_tensor" if value.is_nested else "to_dense"
        raise ValueError(
            f"{name} has the layout {value.layout}; expected a dense tensor: {remedy} makes one, but fills gaps "
            "with 0, and a forbidden part needs -inf"
        )
    if value.is_meta:
        raise ValueError(
            f"{name} is on the meta device, which holds shapes but no numbers; expected a tensor with data, e.g. "
            f"torch.empty_like({name}, device='cpu') filled with scores"
        )
    if value.dim() < dim:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {axes}")


def batched(name: str, value: Tensor, batch_shape: torch.Size, shape: tuple[int, ...]) -> Tensor:
    """Return scores with batch axes: as they are, or viewed with batch axes of size 1 if all items share them.

    Args:
        name: Name of the scores in error messages.
        value: Scores of shape ``shape``, or with batch axes in front, each of size 1 or as in ``batch_shape``.
        batch_shape: The sizes of the batch axes.
        shape: The shape of the scores of one item.

    Raises:
        ValueError: If the shape is wrong, or as in `scores`.
    """
    scores(name, value, f"{shape} or batch + {shape}", len(shape))
    viewed = value.view(*(1,) * len(batch_shape), *value.shape) if value.dim() == len(shape) else value
    batch = viewed.shape[: viewed.dim() - len(shape)]
    fits = viewed.shape[len(batch) :] == shape and len(batch) == len(batch_shape)
    if fits and all(have in (1, want) for have, want in zip(batch, batch_shape, strict=True)):
        return viewed
    expected = any_of(shape, (*batch_shape, *shape))
    raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {expected}")


def not_lengths(name: str, value: Tensor, scores: str, kind: str, shape: str) -> None:
    """Check that the second scores are not lengths, which are the second argument in some other libraries.

    Args:
        name: Name of the second scores.
        value: The second scores.
        scores: Name of the first scores.
        kind: Name of the structure.
        shape: The shape of the second scores, without batch axes.

    Raises:
        ValueError: If the second scores are a tensor of integers or Booleans, or a list or tuple of integers.
    """
    whole = isinstance(value, Tensor) and not value.is_floating_point() and not value.is_complex()
    if whole or (isinstance(value, (list, tuple)) and value and all(isinstance(size, int) for size in value)):
        description = f"has dtype {value.dtype} and shape {tuple(value.shape)}" if whole else f"is {value!r:.60}"
        raise ValueError(
            f"{name} {description}, as lengths have; expected "
            f"{kind}({scores}, {name}, lengths) with a floating-point {name} {shape}, torch.zeros{shape} for none"
        )


def common_dtype(values: tuple[Tensor, ...], names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Return score tensors in a common dtype: the widest of theirs, and at least float32.

    Tensors that have this dtype are returned as they are, not copied.

    Args:
        values: The score tensors, at least one.
        names: Their names in error messages.

    Raises:
        ValueError: If the tensors are on different devices.
    """
    first = values[0]
    dtype = first.dtype
    if dtype in (torch.float32, torch.float64) and all(
        value.dtype == dtype and value.device == first.device for value in values
    ):
        return values
    for value, name in zip(values, names, strict=False):
        dtype = torch.promote_types(dtype, value.dtype)
        if value.device != first.device:
            raise ValueError(
                f"{name} is on {value.device} and {names[0]} on {first.device}; move both to the same device"
            )
    dtype = torch.promote_types(dtype, torch.float32)
    return tuple(value.to(dtype) for value in values)


def are_ordinary(values: tuple[Tensor, ...], may_wait: bool) -> bool:
    """Return True if all scores are known to be ordinary: finite, and at most `guards.LARGEST` in absolute value.

    False is inconclusive: it is also the result under ``torch.func``, in forward mode and under ``torch.compile``.
    On a GPU, -inf counts as ordinary, too.

    Args:
        values: Score tensors.
        may_wait: Whether the check may wait for a GPU; if not, scores on it are not known to be ordinary.
    """
    if not is_plain():
        return False
    if all(score.is_cpu for score in values):
        return all(magnitude.are_within(score.detach().numpy(), guards.LARGEST) for score in values)
    kernels = dispatch.select(magnitude.__name__, values[0]) if may_wait else None
    return kernels is not None and kernels.are_ordinary(values, guards.LARGEST)


def without_extremes(score: Tensor) -> Tensor:
    """Replace scores below -1e15 by -inf, such as masks filled with ``torch.finfo(...).min``.

    The argument is not modified. A tensor on the CPU without such scores is returned as it is, not copied.

    Examples:
        >>> without_extremes(torch.tensor([1.0, torch.finfo(torch.float32).min]))
        tensor([1., -inf])
    """
    extreme = score < -guards.LARGEST
    if is_plain() and score.device.type == "cpu" and not bool((extreme & (score != -torch.inf)).any()):
        return score
    return score.masked_fill(extreme, -torch.inf)
