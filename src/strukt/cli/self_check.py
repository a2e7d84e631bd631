"""Comparison of kernels with the reference, on small random scores."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

import torch
from torch import Tensor

from strukt import mappings
from strukt.kernels import dispatch
from strukt.testing.subject import Subject
from strukt.testing.subjects import STRUCTURES as SUBJECTS

TOLERANCE = 1e-9
"""Maximum difference from the reference in float64, relative to 1 plus the magnitude of the expected value."""

LENGTHS = (7, 4, 1, 0)
"""Lengths of the items in the batch of each structure; those above the size of the batch are reduced to it."""

NOT_CHECKED = "not checked"
"""The verdict on kernels that were not checked, because time ran out."""

Oracle = Callable[[Any], Tensor]
"""A function that computes an operator of a distribution, or of the argument and value of a mapping."""


def _derivative(structure: Any) -> Tensor:
    """Return the gradient, with respect to the scores, of the sum of squares of the marginals."""
    derivative: Tensor = torch.autograd.grad(structure.marginals.square().sum(), structure.scores[0])[0]
    return derivative


ORACLES: dict[str, Oracle] = {
    "log_partition": attrgetter("log_partition"),
    "max_score": attrgetter("max_score"),
    "mode": attrgetter("mode"),
    "log_prob": lambda structure: structure.log_prob(structure.mode),
    "marginals": attrgetter("marginals"),
    "topk": lambda structure: structure.topk(3)[0],
    "derivative of marginals": _derivative,
    "entropy": lambda structure: structure.entropy(),
    "max_marginals": attrgetter("max_marginals"),
}
"""Operators of a distribution by name, the most used first."""


def _gradient(mapped: tuple[Tensor, Tensor]) -> Tensor:
    """Return the gradient, with respect to the argument of a mapping, of the sum of squares of its value."""
    gradient: Tensor = torch.autograd.grad(mapped[1].square().sum(), mapped[0])[0]
    return gradient


OF_MAPPINGS: dict[str, Oracle] = {"value": itemgetter(1), "gradient": _gradient}
"""Operators of a mapping of vectors, by name."""

MAPPINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "sparsemax": mappings.sparsemax,
    "entmax15": mappings.entmax15,
    "entmax": partial(mappings.entmax, alpha=1.3),
    "normmax": partial(mappings.normmax, alpha=2.0),
    "fusedmax": mappings.fusedmax,
    "oscarmax": mappings.oscarmax,
    "ksubset": partial(mappings.ksubset, k=2),
    "budget": partial(mappings.budget, k=2),
}


def _of_subject(subject: Subject, dtype: torch.dtype = torch.float64, device: str = "cpu") -> Any:
    """Return the distribution of a structure for a batch of random scores with the lengths `LENGTHS`."""
    lengths = [min(length, subject.size + 3) for length in LENGTHS]
    case = subject.case((len(LENGTHS),), lengths=lengths, size=subject.size + 3)
    case = replace(case, lengths=case.lengths.to(device))
    return case.map(lambda score: (3 * score).to(device, dtype).requires_grad_()).distribution()


def _of_mapping(
    mapping: Callable[[Tensor], Tensor], dtype: torch.dtype = torch.float64, device: str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Return a random argument ``(4, 7)`` of a mapping, and its value."""
    x = torch.randn(4, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(device, dtype)
    return x.requires_grad_(), mapping(x)


_GRAMMARS_LAST = sorted(SUBJECTS, key=lambda subject: "PCFG" in subject.name)  # they compile for the longest time

STRUCTURES: dict[str, Callable[..., Any]] = {
    **{subject.name: partial(_of_subject, subject) for subject in _GRAMMARS_LAST},
    **{name: partial(_of_mapping, mapping) for name, mapping in MAPPINGS.items()},
}
"""Functions by name that compute a distribution, or the argument and value of a mapping, of random scores."""


def oracles_of(structure: str) -> dict[str, Oracle]:
    """Return the operators of a structure or a mapping."""
    return OF_MAPPINGS if structure in MAPPINGS else ORACLES


def check_kernels(backends: Iterable[str], seconds: float = math.inf) -> Iterator[tuple[str, str, str, str]]:
    """Compare each operator of each structure and mapping with the reference, the most used operators first.

    Args:
        backends: The names of the backends to check.
        seconds: Time in seconds after which no further check begins, because compilation may take long.

    Yields:
        Structure, backend, operator, and a verdict: "ok", `NOT_CHECKED` or the fault.
    """
    end = time.monotonic() + seconds
    ranks = max(len(ORACLES), len(OF_MAPPINGS))
    for backend in backends:
        for rank in range(ranks):
            for structure in STRUCTURES:
                for oracle in list(oracles_of(structure))[rank : rank + 1]:
                    late = time.monotonic() >= end
                    verdict = NOT_CHECKED if late else _verdict(structure, backend, oracle)
                    yield structure, backend, oracle, verdict


def _verdict(structure: str, backend: str, oracle: str) -> str:
    """Compare an operator with the reference; return "ok", the error that it raised, or the largest difference."""
    expected = _computed(structure, "reference", oracle)
    try:
        result = _computed(structure, backend, oracle)
    except Exception as error:  # a faulty kernel must not stop the check of the others
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    same = expected == result  # infinities, too
    difference = ((result - expected).abs() / (1 + expected.abs())).where(~same, 0.0).max().item()
    return "ok" if difference <= TOLERANCE else f"differs by {difference:.1e}"


def _computed(structure: str, backend: str, oracle: str) -> Tensor:
    """Return the result of an operator with a backend, as a tensor in float64 on the CPU."""
    device = "cuda" if backend == "gpu" else "cpu"
    with dispatch.using(backend):
        result = oracles_of(structure)[oracle](STRUCTURES[structure](device=device))
    return result.detach().double().cpu()
