"""A process that runs one library on one case and answers over a pipe."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
import torch

from benchmarks import memory
from benchmarks.contest import Case, Contestant, Family

MEMORY_LIMIT = 8 * 2**30
SLICE = 0.1  # seconds of repetition in one turn; at least one run


@dataclass(frozen=True)
class Trial:
    """The first run of an operation on the real inputs.

    Attributes:
        answer: The result of the library.
        extra: Peak of resident bytes besides inputs, imports and the memory kept after the warm-up.
    """

    answer: tuple[np.ndarray, ...]
    extra: float


@dataclass(frozen=True)
class Failure:
    """The error that an operation raised, as a message."""

    message: str


def serve(
    connection: Connection,
    contestant: Contestant,
    family: Family,
    case: Case,
    threads: int,
) -> None:
    """Answer requests `("try" | "time", operation)` until the pipe is closed."""
    warnings.simplefilter("ignore")  # the peers use deprecated functions
    memory.limit(MEMORY_LIMIT)
    torch.set_num_threads(threads)
    operations, small = family.operations, family.warm_up.inputs()
    for operation in operations.values():
        with contextlib.suppress(Exception):  # raised again, and reported, on the real inputs
            operation(family.taught(contestant, small), small)
    inputs = case.inputs()
    taught = family.taught(contestant, inputs)
    baseline = memory.resident()

    def attempt(name: str) -> Trial:
        answer, peak = memory.peak(lambda: operations[name](taught, inputs))
        return Trial(tuple(tensor.detach().numpy() for tensor in answer), peak - baseline)

    def repeat(name: str) -> list[float]:
        return timed(lambda: operations[name](taught, inputs))

    requests = {"try": attempt, "time": repeat}
    with contextlib.suppress(EOFError):
        while True:
            request, name = connection.recv()
            try:
                connection.send(requests[request](name))
            except Exception as error:  # any error of a library is its result
                connection.send(Failure(f"{type(error).__name__}: {error}"))


def timed(action: Callable[[], object], slice_: float = SLICE) -> list[float]:
    """Run an action until `slice_` seconds have passed, at least once; return the seconds of each run."""
    seconds: list[float] = []
    while sum(seconds) < slice_:
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return seconds
