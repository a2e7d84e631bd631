"""The families of the tables for CPUs, with their cases, some of a single item, and larger cases for a GPU."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from benchmarks import chain, constituency, ctc, dependency, grammar, hidden_markov, mappings, segmentation
from benchmarks.contest import Case, Contestant, Family, Loss

SENTENCES, WORDS, SYMBOLS = 16, 256, 1000
"""The sizes of hidden Markov models: sentences, words of each, and the number of different words."""


def _hidden_markov(name: str, log_prob: partial[Tensor]) -> Contestant:
    def learn(*_: Tensor) -> Loss:
        return lambda *scores: -log_prob(*scores).mean()

    return Contestant(name, log_prob, learn=learn)


def _states(states: int, rank: int) -> Case:
    case = hidden_markov.low_rank(states, rank, SYMBOLS)
    return replace(case, name=f"{SENTENCES}x{WORDS}, {states:,} states, rank {rank}")


_SIZE = (SENTENCES, WORDS)


def _with(family: Family, *large: Case) -> Family:
    """Return a family with larger cases in addition to those for CPUs."""
    return replace(family, cases=(*family.cases, *large))


FAMILIES: tuple[Family, ...] = (
    _with(
        chain.FAMILY, chain.case(256, 512, 64), chain.case(64, 512, 256),
        chain.case(8, 10_000, 8), chain.case(1, 100_000, 5),  # too few items to fill the GPU with one program each
    ),
    _with(segmentation.FAMILY, segmentation.case(32, 1024, 16, 24)),
    _with(dependency.PROJECTIVE, dependency.case(128, 50), dependency.case(32, 120)),
    _with(dependency.NON_PROJECTIVE, dependency.case(256, 60)),
    _with(constituency.FAMILY, constituency.case(64, 60, 64)),
    _with(grammar.FAMILY, grammar.case(16, 40, 30, 60)),
    _with(ctc.FAMILY, ctc.case(128, 600, 128)),
    replace(
        hidden_markov.LOW_RANK,
        cases=(_states(8192, 256), _states(65_536, 512)),
        contestants=(
            _hidden_markov("strukt", partial(hidden_markov.strukt_log_prob, size=_SIZE)),
            _hidden_markov("torch", partial(hidden_markov.torch_log_prob, size=_SIZE)),
        ),
    ),
    *(_with(family, mappings.case(4096, 32_000)) for family in mappings.FAMILIES[:2]),
)  # fmt: skip


def on_device(case: Case, device: str) -> tuple[Tensor, ...]:
    """Return the inputs of a case, the same on every device; 1e8 numbers or more are drawn on this one instead."""
    if sum(torch.Size(shape).numel() for shape in case.shapes) < 1e8:
        return tuple(value.to(device) for value in case.inputs())
    generator = torch.Generator(device).manual_seed(0)
    scales = case.scales or (1.0,) * len(case.shapes)
    return tuple(
        scale * torch.randn(shape, generator=generator, device=device)
        for scale, shape in zip(scales, case.shapes, strict=True)
    )
