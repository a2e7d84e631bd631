"""`strukt doctor --kernels`: how each structure answers each question, on CPUs and on GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import strukt
from strukt.kernels import detour, dispatch, jit
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
    """A header, and a line for each structure.

    *table* is a recursion as data, which one compiled engine reads; *kernel* is compiled code of the structure's
    own; *cpu*, on a GPU, is the CPU's code, on tensors moved there and back once; *reference* is the code for all
    devices, or goes through the other questions.
    """
    yield (f"structure, {backend.upper()}", *QUESTIONS)
    for name in strukt.__all__:
        kind = getattr(strukt, name)
        if isinstance(kind, type) and issubclass(kind, StructuredDistribution) and hasattr(kind, "oracles"):
            package = kind.oracles.name
            yield (name, *(_way(package, backend, function) for function in QUESTIONS.values()))


def _way(package: str, backend: str, question: str) -> str:
    works = backend == "gpu" or jit.UNAVAILABLE is None
    function = getattr(dispatch.kernels(package, backend), question, None) if works else None
    if function is None:
        moved = question == "sparsemap" or detour.is_taken_on_gpu(package, question)
        return "cpu" if moved and backend == "gpu" else "reference"
    return "table" if isinstance(getattr(function, "__self__", None), Questions | Gpu) else "kernel"
