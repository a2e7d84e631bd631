"""PyTorch operators: what a backend computes, as ``torch.compile`` and ``torch.func`` can carry it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from strukt.kernels import dispatch


def operator(
    recursion: str, question: str, schema: str, reference: Callable[..., Any], fake: Callable[..., Any]
) -> Any:
    """The operator ``strukt::recursion_question``.

    Args:
        recursion: A folder of ``strukt.kernels``.
        question: The function of a backend that answers.
        schema: Types of the arguments and the result.
        reference: Answers where the backend has no such function.
        fake: Gives empty tensors of the right shapes, for tracing.
    """

    def body(*arguments: Any) -> Any:
        backend = dispatch.select(recursion, arguments[0])
        compute = getattr(backend, question, None) or reference
        return compute(*arguments)

    name = f"{recursion}_{question}"
    torch.library.custom_op(f"strukt::{name}", body, mutates_args=(), schema=schema).register_fake(fake)
    return getattr(torch.ops.strukt, name).default
