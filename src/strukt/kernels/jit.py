"""Compilation and execution of Numba kernels: a decorator, and threads over the batch.

Kernels are serial and release the interpreter lock; at most ``torch.get_num_threads()`` threads run a batch.
Numba's own ``parallel=True`` is not used: its OpenMP layer kills forked data-loader workers and its workqueue
layer aborts when two threads of a server enter it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from strukt.kernels import compiling, sources
from strukt.kernels.interpreted import current
from strukt.kernels.threads import run

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba
    from numba.extending import intrinsic

    UNAVAILABLE: str | None = None
    compiling.listen()
except Exception as error:  # numba may be absent, or present and broken
    UNAVAILABLE = f"numba cannot be imported ({error})"

OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz"}, "error_model": "numpy"}
"""Options of Numba for all functions.

The interpreter lock is released. Sums may be reordered and fused; infinities and NaN keep their meaning.
"""


def kernel(function: Function) -> Function:
    """Compile a function on first use, to code that releases the interpreter lock; cache it on disk if possible.

    Sums may be reordered and fused (``reassoc``, ``contract``), but infinities and NaN keep their meaning. Without
    Numba the function is returned unchanged: plain Python over NumPy arrays, slow but correct.
    """
    if UNAVAILABLE is not None:
        return function
    try:
        compiled = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no writable cache folder
        compiled = numba.njit(**OPTIONS)(function)
    else:
        sources.invalidate_on_source_change(compiled)
    return compiled  # type: ignore[no-any-return]


def inner(function: Function) -> Function:
    """Compile a function for the kernels that call it; a call from Python would crash.

    It becomes part of these kernels, and is not compiled to machine code or cached on its own. Without Numba, or
    with ``NUMBA_DISABLE_JIT``, the function is returned unchanged.
    """
    if UNAVAILABLE is not None or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    try:
        from strukt.kernels.linked import linked
    except ImportError:  # a Numba whose internals have moved: kernels compile for longer
        return numba.njit(**OPTIONS)(function)  # type: ignore[no-any-return]
    return linked(function, OPTIONS)  # type: ignore[no-any-return]


@inner
def scratch(rows: int, columns: int) -> Any:
    """Return uninitialised doubles ``(rows, columns)`` for use in a kernel, aligned to a cache line."""
    whole = np.empty(rows * columns + 8)
    first = -(whole.ctypes.data // 8) % 8
    return whole[first : first + rows * columns].reshape(rows, columns)


@inner
def write(target: Any, values: Any) -> None:
    """Write the values of an array to another of the same shape, which is not checked.

    Numba takes seconds to compile ``target[:] = values`` for vectors, because of an error message for shapes that
    differ.
    """
    for i in range(len(target)):
        target[i] = values[i]


@inner
def leading(workspace: Any, shape: tuple[int, ...]) -> Any:
    """Return the first entries of an array as a smaller, contiguous one, whose loops are vectorised.

    A corner ``workspace[:n, :n]`` is not contiguous, and its loops take two to three times as long.
    """
    count = 1
    for size in shape:
        count *= size
    return workspace.reshape(-1)[:count].reshape(shape)


@inner
def rows_of(count: int, start: int, step: int) -> tuple[int, int]:
    """Return the first row of a thread, and one more than its last, so that each thread has consecutive rows.

    Threads with interleaved rows would wait for each other on every new page of memory that they share.
    """
    return count * start // step, count * (start + 1) // step


if UNAVAILABLE is None:

    @intrinsic
    def _kept_apart(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return numba.types.none(), generate

    kept_apart: Any = _kept_apart
    """Keep the compiler from inlining the function that calls this.

    Its loops are then optimised on their own: within a larger function they can take three times as long.
    """

else:

    def kept_apart() -> None:
        """Do nothing, as there is no compiler."""


def thread_count(batch: int, work: int) -> int:
    """Return the number of threads for a batch: 1 if its work, a rough count of all operations, is small."""
    return max(1, min(torch.get_num_threads(), batch)) if work >= 50_000 else 1


def sample_threads(batch: int, count: int, work: int) -> tuple[int, int]:
    """Return the number of threads for sampling, and of chunks into which the samples of each item are divided.

    With at least as many items as threads, there is one chunk; else one for each thread.
    """
    threads = thread_count(batch * count, work)
    return threads, 1 if batch >= threads else threads


def array_of(value: Any) -> Any:
    """Return a tensor as a contiguous array, which shares the memory of a contiguous tensor; else the value."""
    if not isinstance(value, Tensor):
        return value
    plain = value.detach() if value.requires_grad else value  # detaching takes a microsecond
    return plain.contiguous().numpy()


def over_batch(function: Callable[..., None], threads: int, *arguments: Any) -> None:
    """Call ``function(*arguments, start, step)`` on each thread, so that each item of a batch is processed once.

    The function processes the items ``range(start, batch, step)``, or as many consecutive ones (`rows_of`);
    ``start`` is also the index of the thread. It gets tensors as contiguous arrays. These share the memory of
    contiguous tensors, so that results are written to such tensors.
    """
    function = current(function)
    inputs = [array_of(each) for each in arguments]
    if threads == 1:
        function(*inputs, 0, 1)
    else:
        run(lambda start: function(*inputs, start, threads), threads)


def warn_unavailable() -> None:
    """Warn that the compiled kernels are missing, and about the consequence."""
    warnings.warn(
        f"strukt runs its slower reference recursions: {UNAVAILABLE}; install numba for the fast kernels",
        RuntimeWarning,
        stacklevel=2,
    )
