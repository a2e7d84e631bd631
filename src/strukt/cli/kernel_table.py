"""`strukt doctor --kernels`: how each structure answers each question, on CPUs and on GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import strukt
from strukt.kernels import dispatch, jit
from strukt.kernels.engine.gpu.backend import Gpu
from strukt.kernels.engine.questions import Questions
from strukt.structures.distribution import StructuredDistribution

QUESTIONS = {
    "log_partition": "inside",
    "marginals": "outside",
    "their gradient": "derivative",
    "mode": "best",
    "topk": "kbest",
    "sample": "sample",
    "max_marginals": "max_marginals",
    "entropy": "entropy",
    "cross_entropy": "surprise",
    "sparsemap": "sparsemap",
}
"""The questions, and the function of a backend that answers each."""


def rows(backend: str = "cpu") -> Iterator[tuple[str, ...]]:
    """A header, and a line for each structure; for "gpu" only for those that have something there.

    *table* is a recursion as data, which one compiled engine reads; *kernel* is compiled code of the structure's
    own; *reference* is the code for all devices, or goes through the other questions.
    """
    works = backend == "gpu" or jit.UNAVAILABLE is None
    yield (f"structure, {backend.upper()}", *QUESTIONS)
    for name in strukt.__all__:
        kind = getattr(strukt, name)
        if isinstance(kind, type) and issubclass(kind, StructuredDistribution) and hasattr(kind, "oracles"):
            found = dispatch.kernels(kind.oracles.name, backend) if works else None
            if found is not None or backend == "cpu":
                yield (name, *(_way(getattr(found, function, None)) for function in QUESTIONS.values()))


def _way(function: Any) -> str:
    if function is None:
        return "reference"
    return "table" if isinstance(getattr(function, "__self__", None), Questions | Gpu) else "kernel"
