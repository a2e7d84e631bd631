"""PyTorch operators around the functions of backends, for ``torch.compile`` and ``torch.func``."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from strukt.kernels import detour, dispatch
from strukt.kernels.full_precision import full_precision

_LIBRARY = torch.library.Library("strukt", "DEF")  # type: ignore[no-untyped-call]
"""The library of operators; those of ``torch.library.custom_op`` would load PyTorch's compiler on first use."""

_BODIES: dict[Any, Callable[..., Any]] = {}
"""The Python function of each operator."""

_DEFINED: Counter[str] = Counter()
"""The number of operators of each name."""


def operator(
    package: str,
    oracle: str,
    schema: str,
    reference: Callable[..., Any],
    fake: Callable[..., Any],
    declined: Callable[..., bool] | None = None,
    charted: Callable[..., tuple[Any, ...]] | None = None,
) -> Any:
    """Define and return the operator ``strukt::name_oracle``.

    The name is that of the package without ``strukt.`` and the next part, or its full name outside strukt.

    Args:
        package: The package with the kernels, as `strukt.kernels.dispatch.kernels` takes it.
        oracle: The name of the backend's function, such as ``inside``.
        schema: The types of the arguments and the result.
        reference: The fallback if the backend has no such function.
        fake: Function that returns empty tensors of the right shapes, for tracing.
        declined: ``declined(backend, *arguments)`` returns True if the backend's function must not be used; None
            if it always may.
        charted: ``charted(backend, *arguments)`` returns the arguments with a chart of this backend as the last
            one; None if the function takes no chart.
    """

    def body(*arguments: Any) -> Any:
        backend = dispatch.select(package, *arguments)
        compute = getattr(backend, oracle, None)
        moved = compute is None and detour.is_taken(package, oracle, *arguments)
        if charted is not None and (moved or compute is not None) and not dispatch.is_for_cpu(arguments[0]):
            arguments = charted(dispatch.kernels(package, "cpu") if moved else backend, *arguments)
        if moved:
            return detour.on_cpu(body, *arguments, kept=oracle == "inside")  # the chart
        if compute is None or (declined is not None and declined(backend, *arguments)):
            compute = reference
        return compute(*arguments)

    name = re.sub(r"^strukt\.\w+\.", "", package).replace(".", "_")
    return define(f"{name}_{oracle}", schema, body, fake)


def body_of(operator: Any) -> Callable[..., Any]:
    """Return the Python function of an operator; calling it directly avoids PyTorch's dispatcher."""
    return _BODIES[operator]


def forward_of(operator: Any) -> Callable[..., Any]:
    """Return the operator with a fixed signature, which PyTorch would otherwise inspect at every call."""
    count = len(operator._schema.arguments)

    def forward(*arguments: Any) -> Any:
        # If no argument needs a gradient, torch.compile passes a context first.
        return operator(*arguments[-count:])

    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    forward.body = body_of(operator)  # type: ignore[attr-defined]
    return forward


def define(name: str, schema: str, body: Callable[..., Any], fake: Callable[..., Any] | None = None) -> Any:
    """Define the operator ``strukt::name`` on all devices; its body must not return one of its arguments.

    A second operator of the same name becomes ``strukt::name_2``: a notebook may define its structure again.

    Args:
        name: The name of the operator.
        schema: The types of the arguments and the result.
        body: The function that computes the result.
        fake: Function that returns empty tensors of the right shapes, for tracing; None if it is never traced.
    """
    _DEFINED[name] += 1
    if _DEFINED[name] > 1:
        name = f"{name}_{_DEFINED[name]}"
    _LIBRARY.define(name + schema, tags=torch.Tag.pt2_compliant_tag)  # type: ignore[no-untyped-call]
    body = full_precision(body)
    _LIBRARY.impl(name, body, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    if fake is not None:
        torch.library.register_fake(f"strukt::{name}", fake, lib=_LIBRARY)
    operator = getattr(torch.ops.strukt, name).default
    _BODIES[operator] = body
    return operator
