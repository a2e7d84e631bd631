"""The cost of each operator, as a multiple of one log-partition with its gradient."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks import chain, constituency, ctc, dependency, grammar, segmentation
from benchmarks.contest import Case
from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import milliseconds, table
from benchmarks.structures import Structure, alignments, items, of_targets, squares, subsets
from benchmarks.worker import timed
from strukt import distributions
from strukt.distributions import StructuredDistribution

SAMPLES = 1000
FEW = 8
CALLS = 20  # of the oracle by SparseMAP


STRUCTURES = (
    Structure("LinearChain", distributions.LinearChain, (chain.case(8, 60, 16), chain.case(32, 128, 32))),
    Structure(
        "SemiMarkov",
        distributions.SemiMarkov,
        (segmentation.case(8, 60, 6, 8), segmentation.case(8, 128, 8, 16)),
    ),
    Structure(
        "NonProjectiveTree",
        distributions.NonProjectiveTree,
        (dependency.case(8, 30), dependency.case(32, 40)),
    ),
    Structure(
        "ProjectiveTree",
        distributions.ProjectiveTree,
        (dependency.case(8, 30), dependency.case(16, 40)),
    ),
    Structure("SpanTree", distributions.SpanTree, (constituency.case(8, 30, 8), constituency.case(16, 40, 32))),
    Structure(
        "BitSpanTree", distributions.BitSpanTree, (constituency.case(8, 30, 8), constituency.case(16, 40, 8))
    ),
    Structure("PCFG", grammar.distribution, (grammar.case(8, 20, 10, 20), grammar.case(4, 30, 30, 60))),
    Structure("MonotoneAlignment", distributions.MonotoneAlignment, (alignments(16, 50, 60),)),
    Structure("CTC", of_targets, (ctc.case(8, 60, 20), ctc.case(16, 200, 32))),
    Structure("KSubset", subsets, (items(16, 100),)),
    Structure("SpanningTree", distributions.SpanningTree, (squares(16, 20),)),
)


def _leaves(structure: Structure, inputs: tuple[Tensor, ...]) -> tuple[StructuredDistribution, list[Tensor]]:
    leaves = [score.detach().requires_grad_() for score in inputs]
    return structure.build(*leaves), leaves


def gradient(structure: Structure, inputs: tuple[Tensor, ...], value: str = "log_partition") -> Any:
    """Compute a property, or call a method without arguments; return its gradient in every raw input."""
    distribution, leaves = _leaves(structure, inputs)
    result = getattr(distribution, value)
    result = result() if callable(result) else result
    return torch.autograd.grad(torch.where(result > -math.inf, result, 0.0).square().sum(), leaves)


def cross_entropy(structure: Structure, inputs: tuple[Tensor, ...]) -> Tensor:
    """Return the cross-entropy with the distribution of half the scores."""
    others = tuple(score / 2 for score in inputs)
    return structure.build(*inputs).cross_entropy(structure.build(*others))


def samples(structure: Structure, inputs: tuple[Tensor, ...], count: int) -> Tensor:
    """Draw ``count`` structures of each item."""
    return structure.build(*inputs).sample((count,))


def many_samples(structure: Structure, inputs: tuple[Tensor, ...]) -> Tensor:
    """Draw structures of each item, so that the batch has at least `SAMPLES` in all."""
    distribution = structure.build(*inputs)
    return distribution.sample((math.ceil(SAMPLES / distribution.batch_shape.numel()),))


OPERATORS: dict[str, Callable[[Structure, tuple[Tensor, ...]], Any]] = {
    "entropy": lambda structure, inputs: structure.build(*inputs).entropy(),
    "gradient of entropy": partial(gradient, value="entropy"),
    "cross-entropy": cross_entropy,
    "gradient of marginals": partial(gradient, value="marginals"),
    "max-marginals": lambda structure, inputs: structure.build(*inputs).max_marginals,
    "gradient of max-marginals": partial(gradient, value="max_marginals"),
    "mode": lambda structure, inputs: structure.build(*inputs).mode,
    f"{FEW} best": lambda structure, inputs: structure.build(*inputs).topk(FEW),
    f"{FEW} samples": partial(samples, count=FEW),
    f"{SAMPLES} samples in all": many_samples,
    f"SparseMAP, {CALLS} calls": lambda structure, inputs: structure.build(*inputs).sparsemap(CALLS),
}
"""The operators by name; each computes on a new distribution."""


def row(structure: Structure, case: Case, slice_: float = 0.3) -> list[str]:
    """Return the time of a log-partition with its gradient, and the times of operators as multiples of it."""
    inputs = case.inputs()

    def seconds(operator: Callable[[Structure, tuple[Tensor, ...]], Any]) -> float:
        operator(structure, inputs)  # compiles and allocates
        return median(timed(lambda: operator(structure, inputs), slice_=slice_))

    first = seconds(gradient)
    times = [f"{float(f'{seconds(operator) / first:.2g}'):g}" for operator in OPERATORS.values()]
    return [f"`{structure.name}`", case.name, milliseconds(first), *times]


def report() -> str:
    """Return one table for all structures."""
    header = ["structure", "sizes", "gradient, ms", *(f"{name}, x" for name in OPERATORS)]
    rows = [row(structure, case) for structure in STRUCTURES for case in structure.cases]
    return table(header, rows)


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=__doc__)
    parser.add_argument("--output", help="page whose section 'operators' is replaced")
    arguments = parser.parse_args()
    try:
        require_section("operators", arguments.output)
        heading = machine(torch.get_num_threads())
        publish(f"{heading}\n\n{report()}", "operators", arguments.output)
    except PageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
