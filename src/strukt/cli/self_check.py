"""Every kernel on small random scores, beside the reference."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from strukt import mappings
from strukt.kernels import dispatch
from strukt.testing.subject import Subject
from strukt.testing.subjects import STRUCTURES as SUBJECTS

TOLERANCE = 1e-9
"""Largest relative difference, in float64."""

LENGTHS = (7, 4, 1, 0)

NOT_CHECKED = "not checked"
"""The verdict on what there was no time for."""

Oracle = Callable[[Any], Tensor]


def _derivative(structure: Any) -> Tensor:
    """The derivative of a number that depends on the marginals, as training on marginals needs it."""
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
"""What is computed of a distribution, what is used most first."""


def _value(mapped: tuple[Tensor, Tensor]) -> Tensor:
    return mapped[1]


def _gradient(mapped: tuple[Tensor, Tensor]) -> Tensor:
    gradient: Tensor = torch.autograd.grad(mapped[1].square().sum(), mapped[0])[0]
    return gradient


OF_MAPPINGS: dict[str, Oracle] = {"value": _value, "gradient": _gradient}
"""What is computed of a mapping of vectors."""

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

STRUCTURES: dict[str, Callable[..., Any]] = {}
"""By name, what makes a distribution, or the argument and the value of a mapping, with random scores."""


def _of_subject(subject: Subject, dtype: torch.dtype = torch.float64, device: str = "cpu") -> Any:
    lengths = [min(length, subject.size + 3) for length in LENGTHS]
    case = subject.case((len(LENGTHS),), lengths=lengths, size=subject.size + 3)
    case = replace(case, lengths=case.lengths.to(device))
    return case.map(lambda score: (3 * score).to(device, dtype).requires_grad_()).distribution()


def _of_mapping(
    mapping: Callable[[Tensor], Tensor], dtype: torch.dtype = torch.float64, device: str = "cpu"
) -> tuple[Tensor, Tensor]:
    x = torch.randn(4, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(device, dtype)
    return x.requires_grad_(), mapping(x)


def _patience(subject: Subject) -> bool:
    """Whether its kernels take longest to compile, so that the others come first."""
    return "PCFG" in subject.name


STRUCTURES |= {subject.name: partial(_of_subject, subject) for subject in sorted(SUBJECTS, key=_patience)}
STRUCTURES |= {name: partial(_of_mapping, mapping) for name, mapping in MAPPINGS.items()}


def oracles_of(structure: str) -> dict[str, Oracle]:
    """What is computed of a structure or a mapping."""
    return OF_MAPPINGS if structure in MAPPINGS else ORACLES


def check_kernels(backends: Iterable[str], seconds: float = math.inf) -> Iterator[tuple[str, str, str, str]]:
    """Compare each oracle of each structure and mapping, what is used most first.

    Args:
        backends: Their names.
        seconds: The time after which nothing more is checked: kernels that are not compiled yet take long.

    Yields:
        Structure, backend, oracle, and "ok", `NOT_CHECKED` or what is wrong.
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
    expected = _computed(structure, "reference", oracle)
    try:
        found = _computed(structure, backend, oracle)
    except Exception as error:  # whatever a kernel that is ill does, the others are still to be examined
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    same = expected == found  # infinities, too
    difference = ((found - expected).abs() / (1 + expected.abs())).where(~same, 0.0).max().item()
    return "ok" if difference <= TOLERANCE else f"differs by {difference:.1e}"


def _computed(structure: str, backend: str, oracle: str) -> Tensor:
    device = "cuda" if backend == "gpu" else "cpu"
    with dispatch.using(backend):
        result = oracles_of(structure)[oracle](STRUCTURES[structure](device=device))
    return result.detach().double().cpu()
