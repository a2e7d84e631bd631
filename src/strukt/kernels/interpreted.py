"""Kernels as plain Python, for results that must not wait for the compiler: slow, but correct.

Some operators have no reference in PyTorch, such as the best non-projective tree. Their kernels then run as Python
over NumPy arrays, as they do without Numba.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

_used: ContextVar[bool] = ContextVar("strukt_interpreted", default=False)

_OF_NUMPY: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "difference": operator.sub,
    "_kept_apart": lambda: None,
    "power_of_two": lambda exponent: 2.0 ** float(exponent) if exponent > -1023 else 0.0,
    "binary_exponent": lambda x: int(np.frexp(x)[1]) - 1,
}
"""The functions of `elementary` and `jit` that only the compiler can run, with their plain replacements."""

_plain: dict[Any, FunctionType] = {}
_lock = threading.RLock()


@contextmanager
def interpreting() -> Iterator[None]:
    """Make `current` return plain Python within the context, in this thread or task only."""
    token = _used.set(True)
    try:
        yield
    finally:
        _used.reset(token)


def current(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel itself, or within `interpreting` its version in plain Python."""
    if not (_used.get() and hasattr(kernel, "py_func")):
        return kernel

    @functools.wraps(kernel)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # compiled code does not warn either
            return _function(kernel)(*arguments)

    return call


def _function(kernel: Any) -> Callable[..., Any]:
    """Return a kernel as a plain Python function; all functions that it calls are plain, too."""
    source = kernel.py_func
    if source.__module__ == "strukt.kernels.elementary" and source.__name__ in _OF_NUMPY:
        return _OF_NUMPY[source.__name__]
    with _lock:
        if kernel not in _plain:
            names: dict[str, Any] = {}
            cells = tuple(CellType(_value(cell.cell_contents)) for cell in source.__closure__ or ())
            function = FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells)
            _plain[kernel] = function  # before its names, for recursion
            names |= {name: _value(value) for name, value in source.__globals__.items()}
        return _plain[kernel]


def _value(value: Any) -> Any:
    """Return the plain Python version of a kernel or of a module of strukt; any other value unchanged."""
    if isinstance(value, ModuleType) and value.__name__.startswith("strukt."):
        return _Module(value)
    if getattr(value, "__name__", "") == "_kept_apart":  # not a kernel, but an instruction to the compiler
        return _OF_NUMPY["_kept_apart"]
    return _function(value) if hasattr(value, "py_func") else value


class _Module:
    """A module proxy whose kernels are plain Python."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _value(getattr(self._module, name))
