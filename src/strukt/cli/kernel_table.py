"""`strukt doctor --kernels`: the code that computes each operator of each structure, on CPUs and on GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import strukt
from strukt.kernels import detour, dispatch, jit
from strukt.kernels.engine.gpu.backend import Gpu
from strukt.kernels.engine.operators import TableOperators
from strukt.structures.distribution import StructuredDistribution

ORACLES = {
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
"""The operators, and for each the name of the function in a backend that computes it."""


def rows(backend: str = "cpu") -> Iterator[tuple[str, ...]]:
    """Yield a header, and a row for each structure: the kind of code that computes each operator.

    *table* is a recursion written as a table, which a compiled engine runs; *kernel* is code for this structure
    and device; *cpu*, for GPUs, means that tensors are moved to the CPU and back; *reference* is PyTorch code for
    all devices, or code that calls other operators. For SparseMAP on a GPU, the table shows the code that finds
    its structures.
    """
    yield (f"structure, {backend.upper()}", *ORACLES)
    for name in strukt.__all__:
        kind = getattr(strukt, name)
        if isinstance(kind, type) and issubclass(kind, StructuredDistribution) and hasattr(kind, "oracles"):
            package = kind.oracles.name
            yield (name, *(_implementation(package, backend, function) for function in ORACLES.values()))


def _implementation(package: str, backend: str, oracle: str) -> str:
    """Return the kind of code, one of those that `rows` names, that computes an operator of a structure.

    Args:
        package: The package with the kernels of the structure, or the structure's name if it has no kernels.
        backend: "cpu" or "gpu".
        oracle: The name of the function that computes the operator, a value of `ORACLES`.
    """
    if oracle == "sparsemap" and backend == "gpu":
        mode = _implementation(package, backend, "best")
        return mode if mode != "reference" else "cpu"
    works = backend == "gpu" or jit.UNAVAILABLE is None
    function = getattr(dispatch.kernels(package, backend), oracle, None) if works else None
    if function is None:
        moved = backend == "gpu" and detour.is_taken_on_gpu(package, oracle)
        return "cpu" if moved else "reference"
    return "table" if isinstance(getattr(function, "__self__", None), TableOperators | Gpu) else "kernel"
