"""The choice of the backend that computes an oracle, and the reasons why a backend is unavailable.

The rule is short: tensors on the CPU go to the Numba kernels if Numba works, those on a GPU to Triton kernels if
Triton works. Everything else is computed on a detour through the CPU (`strukt.kernels.detour`), or in PyTorch: by
an executor if there is one (`strukt.kernels.engine.executor`), else by the reference. The environment variable
``STRUKT_BACKEND`` (``reference``, ``cpu`` or ``gpu``) overrides this rule. The context ``using`` overrides both,
for one thread or task. With ``reference``, devices other than the CPU still use an executor if there is one.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from torch import Tensor

from strukt.errors import SettingError
from strukt.kernels import jit
from strukt.kernels.engine.gpu import available
from strukt.kernels.interpreted import interpreting

NAMES = ("cpu", "gpu", "reference")

_used: ContextVar[str | None] = ContextVar("strukt_backend", default=None)


def select(package: str, scores: Tensor, *more: Any) -> Any:
    """Return a package's kernels for the device of ``scores``, or an executor; None if there is neither.

    Operators are then computed on a detour through the CPU (`strukt.kernels.detour.is_taken`), or else by the
    reference.

    Args:
        package: The package with the kernels, as `kernels` takes it.
        scores: The main scores of an operator.
        more: The operator's other arguments; kernels for GPUs may support only some of them.

    Raises:
        SettingError: If ``STRUKT_BACKEND`` names no backend.
    """
    name = chosen()
    if name != "reference" and reaches_gpu(scores):
        return _on_gpu(package, scores, *more)
    if not (scores.is_cpu or scores.is_meta):
        return _elsewhere(package, scores, *more)
    if name == "reference" or scores.is_meta:
        return None
    if jit.UNAVAILABLE is not None:
        _warn_once()
        return None
    return kernels(package, "cpu")


def chosen() -> str:
    """Return the name of the backend that the context or the environment demands; "" if none.

    Raises:
        SettingError: If ``STRUKT_BACKEND`` names no backend.
    """
    name = _used.get() or os.environ.get("STRUKT_BACKEND", "")
    if name not in ("", *NAMES):
        raise SettingError(f"STRUKT_BACKEND is {name!r}; expected one of {', '.join(NAMES)}, or nothing")
    return name


def is_for_cpu(scores: Tensor) -> bool:
    """Return True if scores are on the CPU, or have no data (meta), and Triton's interpreter is not chosen."""
    return (scores.is_cpu or scores.is_meta) and not _is_for_gpu(scores, chosen())


def reaches_gpu(scores: Tensor) -> bool:
    """Return True if scores go to kernels for GPUs, and these work; warn once if they do not."""
    if not _is_for_gpu(scores, chosen()):
        return False
    if available.broken():
        available.warn_once()
        return False
    return True


def _is_for_gpu(scores: Tensor, name: str) -> bool:
    """Return True if kernels for GPUs should compute: on a GPU, or in Triton's interpreter if "gpu" is chosen."""
    return (scores.is_cuda and name != "cpu") or (name == "gpu" and available.is_interpreted())


def _on_gpu(package: str, *arguments: Any) -> Any:
    """Return the GPU kernels if they support the arguments, else their first alternative that does, or None."""
    backend = kernels(package, "gpu")
    candidates = () if backend is None else (backend, *getattr(backend, "ALTERNATIVES", ()))
    return next((each for each in candidates if each.fits(*arguments)), None)


def _elsewhere(package: str, *arguments: Any) -> Any:
    """Return the executor for a device without kernels.

    None means a detour through the CPU if its kernels work for this package, else the reference.
    """
    detours = jit.UNAVAILABLE is None and chosen() != "reference" and hasattr(kernels(package, "cpu"), "inside")
    backend = None if detours else executor(package)
    return backend if backend is not None and backend.fits(*arguments) else None


def using_cpu() -> AbstractContextManager[None]:
    """Return a context that uses the CPU backend if "gpu" is chosen, which would interpret Triton kernels.

    It is for tensors that were moved to the CPU.
    """
    return using("cpu") if chosen() == "gpu" else nullcontext()


@contextmanager
def using(backend: str) -> Iterator[None]:
    """Use one backend for all oracles within the context, in this thread or task only.

    Args:
        backend: One of `NAMES`.

    Raises:
        SettingError: If there is no such backend.

    Examples:
        >>> import torch
        >>> with using("reference"):
        ...     print(select("strukt.kernels.sparsemax_entmax", torch.zeros(1)))
        None
    """
    if backend not in NAMES:
        raise SettingError(f"backend is {backend!r}; expected one of {', '.join(NAMES)}")
    token = _used.set(backend)
    try:
        yield
    finally:
        _used.reset(token)


@contextmanager
def uncompiled() -> Iterator[None]:
    """Compile nothing within the context, in this thread or task only.

    The reference is used, and kernels without one run as plain Python: slow, but correct.
    """
    with using("reference"), interpreting():
        yield


def backends() -> dict[str, str]:
    """Return, for each backend, ``"available"`` or the reason why it is not."""
    return {
        "cpu": jit.UNAVAILABLE or "available",
        "gpu": available.reason() or "available",
        "reference": "available",
    }


@functools.cache
def kernels(package: str, backend: str) -> Any:
    """Return the module ``cpu``, ``gpu`` or ``executor`` of a package, or the table in it; None if there is none.

    A name without a dot is not a package, but the name of a structure without kernels.
    """
    try:
        result = importlib.util.find_spec(f"{package}.{backend}") if "." in package else None
    except ModuleNotFoundError:
        result = None
    module = importlib.import_module(result.name) if result else None
    return getattr(module, "TABLE", module)


@functools.cache
def executor(package: str) -> Any:
    """Return a structure's backend that runs each stage as a few PyTorch operations; None if there is none."""
    from strukt.kernels.engine.executor import Executor
    from strukt.kernels.engine.gpu.backend import Gpu

    backend = kernels(package, "gpu")
    recursion = getattr(backend, "RECURSION", backend)
    return Executor(recursion) if isinstance(recursion, Gpu) else kernels(package, "executor")


@functools.cache
def _warn_once() -> None:
    """Warn once that Numba's kernels are missing."""
    jit.warn_unavailable()
