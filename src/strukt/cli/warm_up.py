"""`strukt warm-up`: compile all CPU kernels in advance, for container images and CI."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from strukt.cli import console
from strukt.cli.options import Parser
from strukt.errors import StruktError


def run(arguments: list[str]) -> int:
    """Compile all CPU kernels that are not in the cache yet.

    Raises:
        StruktError: If Numba, the compiler, cannot be imported.
    """
    _parser().parse(arguments)
    from strukt.kernels import jit
    from strukt.kernels.compiling import NOTICE

    if jit.UNAVAILABLE is not None:
        raise StruktError(f"kernels cannot be compiled: {jit.UNAVAILABLE}; install numba")
    NOTICE.silence()  # the message below replaces it
    start, works = time.monotonic(), list(kernels())
    console.message("compiling kernels, once for this environment; with an empty cache this takes minutes")
    for number, (name, use) in enumerate(works, start=1):
        before = time.monotonic()
        use()
        console.message(f"{number}/{len(works)} {name}, {time.monotonic() - before:.1f} s")
    console.message(f"compiled all kernels in {time.monotonic() - start:.0f} s")
    return 0


def kernels() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield names of structures and other users of kernels, with functions that compile their kernels.

    The kernels are compiled for float32 and float64.
    """
    from strukt.cli import kernel_use, self_check

    for name in self_check.STRUCTURES:
        calls = kernel_use.of_mapping if name in self_check.MAPPINGS else kernel_use.of_structure
        yield name, partial(_compute, self_check.STRUCTURES[name], calls)
    for name, use in kernel_use.OTHERS.items():
        yield name, partial(_in_both, use)


def _compute(make: Callable[..., Any], calls: Callable[[Any], Iterator[Callable[[], object]]]) -> None:
    """Make a structure or a mapping in each dtype, and run the calls that use its kernels."""
    def run(dtype: Any) -> None:
        for call in calls(make(dtype)):
            with suppress(NotImplementedError):  # not every structure has every operator
                call()

    _in_both(run)


def _in_both(use: Callable[[Any], object]) -> None:
    """Call a function with each dtype that kernels are compiled for, float32 and float64."""
    import torch

    for dtype in (torch.float32, torch.float64):
        use(dtype)


def _parser() -> Parser:
    return Parser(
        "warm-up", "Compile all CPU kernels in advance, so that later calls do not wait for the compiler."
    )
