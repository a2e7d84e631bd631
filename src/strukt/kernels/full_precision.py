"""Protection from autocast, whose products in half precision would round sums over structures to three digits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import torch
from typing_extensions import ParamSpec

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def full_precision(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a function so that it computes in the types of its arguments, even under autocast.

    Examples:
        >>> ones = torch.ones(2, 2)
        >>> with torch.autocast("cpu", torch.bfloat16):
        ...     (ones @ ones).dtype, full_precision(torch.matmul)(ones, ones).dtype
        (torch.bfloat16, torch.float32)
    """

    @functools.wraps(function)
    def precise(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                with torch.autocast(device, enabled=False):
                    return precise(*arguments, **options)
        return function(*arguments, **options)

    return precise
