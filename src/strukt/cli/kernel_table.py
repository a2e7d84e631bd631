"""`strukt doctor --kernels`: how each structure answers each question on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

import strukt
from strukt.distributions.distribution import StructuredDistribution
from strukt.kernels import dispatch
from strukt.kernels.engine.questions import Questions

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


def rows() -> Iterator[tuple[str, ...]]:
    """A header, and a line for each structure.

    *table* is a recursion as data, which one compiled engine reads; *kernel* is compiled code of the structure's
    own; *reference* is the code for all devices, or goes through the other questions.
    """
    yield ("structure", *QUESTIONS)
    for name in strukt.__all__:
        kind = getattr(strukt, name)
        if isinstance(kind, type) and issubclass(kind, StructuredDistribution) and hasattr(kind, "oracles"):
            backend = dispatch.select(kind.oracles.name, torch.zeros(0))
            yield (name, *(_way(getattr(backend, function, None)) for function in QUESTIONS.values()))


def _way(function: Any) -> str:
    if function is None:
        return "reference"
    return "table" if isinstance(getattr(function, "__self__", None), Questions) else "kernel"
