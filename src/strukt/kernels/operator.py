"""PyTorch operators: what a backend computes, as ``torch.compile`` and ``torch.func`` can carry it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from strukt.kernels import dispatch

_LIBRARY = torch.library.Library("strukt", "DEF")  # type: ignore[no-untyped-call]
"""The operators. Those of ``torch.library.custom_op`` load the compiler of PyTorch when they are first called."""

_BODIES: dict[Any, Callable[..., Any]] = {}


def operator(
    package: str,
    question: str,
    schema: str,
    reference: Callable[..., Any],
    fake: Callable[..., Any],
    declined: Callable[..., bool] | None = None,
) -> Any:
    """The operator ``strukt::name_question``, with the name of a package in strukt, or its whole name elsewhere.

    Args:
        package: The one with the kernels, as `strukt.kernels.dispatch.kernels` takes it.
        question: The function of a backend that answers.
        schema: Types of the arguments and the result.
        reference: Answers where the backend has no such function.
        fake: Gives empty tensors of the right shapes, for tracing.
        declined: ``declined(backend, *arguments)``: whether the backend's function must not answer; never if None.
    """

    def body(*arguments: Any) -> Any:
        backend = dispatch.select(package, *arguments)
        compute = getattr(backend, question, None)
        if compute is None or (declined is not None and declined(backend, *arguments)):
            compute = reference
        return compute(*arguments)

    name = re.sub(r"^strukt\.\w+\.", "", package).replace(".", "_")
    return define(f"{name}_{question}", schema, body, fake)


def body_of(operator: Any) -> Callable[..., Any]:
    """Return the Python function of an operator: called by itself, it saves what PyTorch's dispatcher costs."""
    return _BODIES[operator]


def define(name: str, schema: str, body: Callable[..., Any], fake: Callable[..., Any] | None = None) -> Any:
    """The operator ``strukt::name`` on all devices; it must not return what it is given.

    Args:
        name: What it is called.
        schema: Types of the arguments and the result.
        body: Computes the result.
        fake: Gives empty tensors of the right shapes, for tracing; None if it is never traced.
    """
    _LIBRARY.define(name + schema, tags=torch.Tag.pt2_compliant_tag)  # type: ignore[no-untyped-call]
    _LIBRARY.impl(name, body, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    if fake is not None:
        torch.library.register_fake(f"strukt::{name}", fake, lib=_LIBRARY)
    operator = getattr(torch.ops.strukt, name).default
    _BODIES[operator] = body
    return operator
