"""Times of one short item on a GPU: strukt, its reference in PyTorch, and this reference under `torch.compile`.

Longer items are left out: compilers unroll the loop of a recursion, and take minutes for a hundred steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks import chain, constituency, ctc, dependency, segmentation
from benchmarks.contest import Case
from benchmarks.gpu.cases import on_device
from benchmarks.gpu.clock import Budget, attempt
from benchmarks.report import duration
from benchmarks.structures import of_targets
from strukt import distributions

HEADER = ("case", "strukt", "reference", "compiled", "its first call")

CASES: tuple[tuple[str, Callable[..., Any], Case], ...] = (
    ("LinearChain", distributions.LinearChain, chain.case(1, 20, 10)),
    ("SemiMarkov", distributions.SemiMarkov, segmentation.case(1, 20, 4, 10)),
    ("CTC", of_targets, ctc.case(1, 20, 10)),
    ("NonProjectiveTree", distributions.NonProjectiveTree, dependency.case(1, 20)),
    ("ProjectiveTree", distributions.ProjectiveTree, dependency.case(1, 20)),
    ("SpanTree", distributions.SpanTree, constituency.case(1, 20, 10)),
)


def lines(device: str, budget: Budget, told: Callable[[list[str]], None]) -> Iterator[list[str]]:
    """Yield a row of cells for each structure, with the error in the cell of an action that fails."""
    for place, (name, build, case) in enumerate(CASES):
        inputs = tuple(value.requires_grad_() for value in on_device(case, device))
        part = budget.share(len(CASES) - place)
        spent = [attempt(each, part) for each in actions(build, inputs)]
        cells = [each if isinstance(each, str) else duration(each.seconds) for each in spent]
        first = "" if isinstance(spent[-1], str) else f"{spent[-1].first:.0f} s"
        row = [f"{name} {case.name}", *cells, first]
        told(row)
        yield row


def actions(build: Callable[..., Any], inputs: tuple[Tensor, ...], backend: str = "inductor") -> Iterator[Any]:
    """Yield functions for the gradient of a log-partition: by strukt, its reference, and that compiled."""
    reference = build(*inputs).oracles.reference.log_partition
    compiled = torch.compile(reference, backend=backend, dynamic=False)

    def gradient(log_partition: Callable[[Any], Tensor]) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(log_partition(build(*inputs)).sum(), inputs)

    yield gradient(lambda distribution: distribution.log_partition)
    yield gradient(lambda distribution: reference(*distribution._arguments()))
    yield gradient(lambda distribution: compiled(*distribution._arguments()))
