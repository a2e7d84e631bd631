"""The families of the CPU's tables, with cases for a GPU: those of that table, large ones, and one item alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from benchmarks import chain, constituency, ctc, dependency, grammar, hidden_markov, mappings, segmentation
from benchmarks.contest import Case, Contestant, Family, Loss

SENTENCES, WORDS, SYMBOLS = 16, 256, 1000
"""Of hidden Markov models."""


def _hidden_markov(name: str, log_prob: partial[Tensor]) -> Contestant:
    def learn(*_: Tensor) -> Loss:
        return lambda *scores: -log_prob(*scores).mean()

    return Contestant(name, log_prob, learn=learn)


def _states(states: int, rank: int) -> Case:
    case = hidden_markov.low_rank(states, rank, SYMBOLS)
    return replace(case, name=f"{SENTENCES}x{WORDS}, {states:,} states, rank {rank}")


_SIZE = (SENTENCES, WORDS)

FAMILIES: tuple[Family, ...] = (
    replace(
        chain.FAMILY,
        cases=tuple(
            chain.case(*size)
            for size in (
                *((32, 128, 32), (256, 512, 64), (64, 512, 256), (8, 1000, 16), (1, 20, 10)),
                *((8, 10_000, 8), (1, 100_000, 5)),  # which do not fill a device with a program for each item
            )
        ),
    ),
    replace(
        segmentation.FAMILY,
        cases=tuple(segmentation.case(*size) for size in ((8, 128, 8, 16), (32, 1024, 16, 24), (1, 20, 4, 10))),
    ),
    replace(
        dependency.PROJECTIVE,
        cases=tuple(dependency.case(*size, charts=2) for size in ((16, 40), (128, 50), (32, 120), (1, 20))),
    ),
    replace(
        dependency.NON_PROJECTIVE,
        cases=tuple(dependency.case(*size, charts=1) for size in ((32, 40), (256, 60), (1, 20))),
    ),
    replace(
        constituency.FAMILY,
        cases=tuple(
            constituency.case(*size) for size in ((16, 40, 32), (64, 60, 64), (4, 100, 32), (1, 20, 10))
        ),
    ),
    replace(
        grammar.FAMILY,
        cases=tuple(grammar.case(*size) for size in ((4, 30, 30, 60), (16, 40, 30, 60), (1, 20, 10, 20))),
    ),
    replace(ctc.FAMILY, cases=tuple(ctc.case(*size) for size in ((16, 200, 32), (128, 600, 128), (1, 20, 10)))),
    replace(
        hidden_markov.LOW_RANK,
        cases=(_states(8192, 256), _states(65_536, 512)),
        contestants=(
            _hidden_markov("strukt", partial(hidden_markov.strukt_log_prob, size=_SIZE)),
            _hidden_markov("torch", partial(hidden_markov.torch_log_prob, size=_SIZE)),
        ),
    ),
    *(
        replace(family, cases=(mappings.case(4096, 32_000), mappings.case(4096, 128)))
        for family in mappings.FAMILIES[:2]
    ),
)


def on_device(case: Case, device: str) -> tuple[Tensor, ...]:
    """The raw inputs of a case: the same numbers on every device, drawn there if there are very many."""
    if sum(torch.Size(shape).numel() for shape in case.shapes) < 1e8:
        return tuple(value.to(device) for value in case.inputs())
    generator = torch.Generator(device).manual_seed(0)
    scales = case.scales or (1.0,) * len(case.shapes)
    return tuple(
        scale * torch.randn(shape, generator=generator, device=device)
        for scale, shape in zip(scales, case.shapes, strict=True)
    )
