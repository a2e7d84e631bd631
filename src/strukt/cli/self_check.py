"""Every kernel on small random scores, beside the reference."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from strukt.distributions import (
    CTC,
    BitSpanTree,
    KSubset,
    LinearChain,
    MonotoneAlignment,
    NonProjectiveTree,
    ProjectiveTree,
    SemiMarkov,
    SpanningTree,
    SpanTree,
)

TOLERANCE = 1e-9
"""Largest relative difference, in float64."""

LENGTHS = (7, 4, 1, 0)


def _derivative(structure: Any) -> Tensor:
    """The derivative of a number that depends on the marginals, as training on marginals needs it."""
    derivative: Tensor = torch.autograd.grad(structure.marginals.square().sum(), structure.scores[0])[0]
    return derivative


ORACLES: dict[str, Callable[[Any], Tensor]] = {
    "log_partition": attrgetter("log_partition"),
    "marginals": attrgetter("marginals"),
    "derivative of marginals": _derivative,
    "max_score": attrgetter("max_score"),
    "mode": attrgetter("mode"),
}
"""What is computed of a distribution."""


def _chain(scores: Callable[..., Tensor], lengths: Tensor) -> LinearChain:
    return LinearChain(scores(len(LENGTHS), max(LENGTHS), 3), scores(3, 3), lengths)


def _steps(scores: Callable[..., Tensor], lengths: Tensor) -> LinearChain:
    count, n = len(LENGTHS), max(LENGTHS)
    return LinearChain(scores(count, n, 3), scores(count, n - 1, 3, 3), lengths)


def _segments(scores: Callable[..., Tensor], lengths: Tensor) -> SemiMarkov:
    return SemiMarkov(scores(len(LENGTHS), max(LENGTHS), 3, 3), lengths=lengths)


def _segments_and_transitions(scores: Callable[..., Tensor], lengths: Tensor) -> SemiMarkov:
    return SemiMarkov(scores(len(LENGTHS), max(LENGTHS), 3, 3), scores(3, 3), lengths)


def _trees(scores: Callable[..., Tensor], lengths: Tensor) -> NonProjectiveTree:
    return NonProjectiveTree(scores(len(LENGTHS), max(LENGTHS), max(LENGTHS) + 1), lengths)


def _projective(scores: Callable[..., Tensor], lengths: Tensor) -> ProjectiveTree:
    return ProjectiveTree(scores(len(LENGTHS), max(LENGTHS), max(LENGTHS) + 1), lengths)


def _spans(scores: Callable[..., Tensor], lengths: Tensor) -> SpanTree:
    return SpanTree(scores(len(LENGTHS), max(LENGTHS) + 1, max(LENGTHS) + 1), lengths)


def _labelled_spans(scores: Callable[..., Tensor], lengths: Tensor) -> SpanTree:
    return SpanTree(scores(len(LENGTHS), max(LENGTHS) + 1, max(LENGTHS) + 1, 3), lengths)


def _codes(scores: Callable[..., Tensor], lengths: Tensor) -> BitSpanTree:
    return BitSpanTree(scores(len(LENGTHS), max(LENGTHS) + 1, max(LENGTHS) + 1, 3), lengths)


def _spanning(scores: Callable[..., Tensor], lengths: Tensor) -> SpanningTree:
    return SpanningTree(scores(len(LENGTHS), max(LENGTHS), max(LENGTHS)), lengths)


def _subsets(scores: Callable[..., Tensor], lengths: Tensor) -> KSubset:
    return KSubset(scores(len(LENGTHS), max(LENGTHS)), (lengths.clamp(max=2), lengths), lengths)


def _ctc(scores: Callable[..., Tensor], lengths: Tensor) -> CTC:
    targets = torch.tensor([1, 1, 2]).expand(len(LENGTHS), 3)
    return CTC(scores(len(LENGTHS), max(LENGTHS), 3), targets, lengths, lengths // 2)


def _alignments(scores: Callable[..., Tensor], lengths: Tensor) -> MonotoneAlignment:
    moves = scores(len(LENGTHS), max(LENGTHS), max(LENGTHS), 3)
    return MonotoneAlignment.from_moves(moves, scores(3, 3), lengths, lengths)


STRUCTURES: dict[str, Callable[[Callable[..., Tensor], Tensor], Any]] = {
    "LinearChain, shared transitions": _chain,
    "LinearChain, transitions per step": _steps,
    "SemiMarkov": _segments,
    "SemiMarkov, with transitions": _segments_and_transitions,
    "NonProjectiveTree": _trees,
    "ProjectiveTree": _projective,
    "SpanTree": _spans,
    "SpanTree, labelled": _labelled_spans,
    "BitSpanTree": _codes,
    "SpanningTree": _spanning,
    "KSubset": _subsets,
    "CTC": _ctc,
    "MonotoneAlignment": _alignments,
}


def check_kernels(backends: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Compares each oracle of each structure.

    Args:
        backends: Their names.

    Yields:
        Structure, backend, oracle, and "ok" or what is wrong.
    """
    for backend in backends:
        for structure in STRUCTURES:
            for oracle in ORACLES:
                yield structure, backend, oracle, _verdict(structure, backend, oracle)


def _verdict(structure: str, backend: str, oracle: str) -> str:
    expected = _computed(structure, "reference", oracle)
    try:
        found = _computed(structure, backend, oracle)
    except Exception as error:  # whatever a kernel that is ill does, the others are still to be examined
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    difference = ((found - expected).abs() / (1 + expected.abs())).max().item()
    return "ok" if difference <= TOLERANCE else f"differs by {difference:.1e}"


def _computed(structure: str, backend: str, oracle: str) -> Tensor:
    generator = torch.Generator().manual_seed(0)

    def scores(*shape: int) -> Tensor:
        return (3 * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()

    with chosen(backend):
        result = ORACLES[oracle](STRUCTURES[structure](scores, torch.tensor(LENGTHS)))
    return result.detach().double()


@contextmanager
def chosen(backend: str) -> Iterator[None]:
    """Within it, all oracles are computed by one backend."""
    before = os.environ.get("STRUKT_BACKEND")
    os.environ["STRUKT_BACKEND"] = backend
    try:
        yield
    finally:
        os.environ.pop("STRUKT_BACKEND")
        if before is not None:
            os.environ["STRUKT_BACKEND"] = before
