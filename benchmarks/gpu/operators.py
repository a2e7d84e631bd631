"""Times of other operators on a GPU, as multiples of the log-partition with its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks import chain, constituency, ctc, dependency, grammar, segmentation
from benchmarks.contest import Case
from benchmarks.gpu.cases import on_device
from benchmarks.gpu.clock import Budget, Measured, attempt
from benchmarks.report import duration
from benchmarks.structures import items, of_targets, subsets
from strukt import distributions


def without_gradient(distribution: Any) -> Tensor:
    """Return max-marginals without a gradient, because the reference would compute them with one."""
    with torch.no_grad():
        result: Tensor = distribution.max_marginals
    return result


OPERATORS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("gradient of marginals", lambda d: d.marginals),
    ("entropy", lambda d: d.entropy()),
    ("max_marginals", without_gradient),
    ("mode", lambda d: d.mode),
    ("100 samples", lambda d: d.sample((100,))),
)

HEADER = ("structure", "sizes", "gradient", *(name for name, _ in OPERATORS))

CASES: tuple[tuple[str, Callable[..., Any], Case], ...] = (
    ("LinearChain", distributions.LinearChain, chain.case(32, 128, 32)),
    ("SemiMarkov", distributions.SemiMarkov, segmentation.case(8, 128, 8, 16)),
    ("ProjectiveTree", distributions.ProjectiveTree, dependency.case(16, 40)),
    ("NonProjectiveTree", distributions.NonProjectiveTree, dependency.case(32, 40)),
    ("SpanTree", distributions.SpanTree, constituency.case(16, 40, 32)),
    ("CTC", of_targets, ctc.case(16, 200, 32)),
    ("PCFG", grammar.distribution, grammar.case(16, 40, 30, 60)),
    ("KSubset", subsets, items(32, 100)),
)


def lines(device: str, budget: Budget, told: Callable[[list[str]], None]) -> Iterator[list[str]]:
    """Yield a row of cells for each structure."""
    for place, (name, build, case) in enumerate(CASES):
        inputs = tuple(value.requires_grad_() for value in on_device(case, device))
        part = budget.share(len(CASES) - place)
        one = attempt(_gradient(build, inputs, lambda d: d.log_partition), part)
        row = [name, case.name, one if isinstance(one, str) else duration(one.seconds)]
        for _, operator in OPERATORS:
            spent = attempt(_gradient(build, inputs, operator), part)
            both = isinstance(spent, Measured) and isinstance(one, Measured)
            row.append(f"{spent.seconds / one.seconds:.1f}" if both else str(spent))  # type: ignore[union-attr]
        told(row)
        yield row


def _gradient(
    build: Callable[..., Any], inputs: tuple[Tensor, ...], operator: Callable[[Any], Any]
) -> Callable[[], Any]:
    """Return a function that computes the gradient of an operator's squared values, or only values without one."""
    def action() -> Any:
        value = operator(build(*inputs))
        return torch.autograd.grad(value.square().sum(), inputs) if value.requires_grad else value

    return action
