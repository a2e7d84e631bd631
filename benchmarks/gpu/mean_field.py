"""Times of mean-field attention on a GPU beside a Transformer of the same sizes with fused (flash) attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from benchmarks import mean_field
from benchmarks.contest import Case, Contestant
from benchmarks.gpu.cases import on_device
from benchmarks.gpu.clock import Budget, attempt
from benchmarks.report import duration

COLUMNS = {
    "strukt, `uv`": mean_field.uv,
    "strukt, `biased`": mean_field.biased,
    "as published": mean_field.torch_scores,
    "Transformer, fused attention": mean_field.transformer,
    "attention not fused": mean_field.materialised_transformer,
}

HEADER = ("batch x n x iterations", *COLUMNS)

CASES = (*mean_field.FAMILY.cases, mean_field.case(32, 128, mean_field.ITERATIONS))


def lines(
    device: str, budget: Budget, told: Callable[[list[str]], None], cases: tuple[Case, ...] = CASES
) -> Iterator[list[str]]:
    """Yield a row for each size: times of scores with their gradient, in bfloat16, which fused attention needs."""
    for case in cases:
        inputs = on_device(case, device)
        row = [case.name]
        for compute in COLUMNS.values():
            spent = attempt(partial(_step, Contestant("", compute), inputs, device), budget)
            row.append(spent if isinstance(spent, str) else duration(spent.seconds))
        told(row)
        yield row


def _step(contestant: Contestant, inputs: tuple[Tensor, ...], device: str) -> object:
    with torch.autocast(device, torch.bfloat16):
        return mean_field.step(contestant, inputs)
