"""What samples and the k best structures cost, as a multiple of one log-partition with its gradient."""

from __future__ import annotations

import argparse
import math
import sys
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks import chain, constituency, ctc, dependency, grammar, segmentation
from benchmarks.contest import Case
from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import duration, table
from benchmarks.structures import Structure, alignments, items, of_targets, subsets
from benchmarks.worker import timed
from strukt import distributions

SAMPLES = 1000
BEST = 10


STRUCTURES = (
    Structure("LinearChain", distributions.LinearChain, (chain.case(1, 128, 32), chain.case(32, 128, 32))),
    Structure(
        "SemiMarkov",
        distributions.SemiMarkov,
        (segmentation.case(1, 128, 8, 16), segmentation.case(8, 128, 8, 16)),
    ),
    Structure(
        "NonProjectiveTree",
        distributions.NonProjectiveTree,
        (dependency.case(1, 40, 1), dependency.case(32, 40, 1)),
    ),
    Structure(
        "ProjectiveTree",
        distributions.ProjectiveTree,
        (dependency.case(1, 40, 2), dependency.case(16, 40, 2)),
    ),
    Structure(
        "SpanTree", distributions.SpanTree, (constituency.case(1, 40, 32), constituency.case(16, 40, 32))
    ),
    Structure(
        "BitSpanTree", distributions.BitSpanTree, (constituency.case(1, 40, 8), constituency.case(16, 40, 8))
    ),
    Structure("PCFG", grammar.distribution, (grammar.case(1, 30, 30, 60), grammar.case(4, 30, 30, 60))),
    Structure(
        "MonotoneAlignment", distributions.MonotoneAlignment, (alignments(1, 50, 60), alignments(16, 50, 60))
    ),
    Structure("CTC", of_targets, (ctc.case(1, 200, 32), ctc.case(16, 200, 32))),
    Structure("KSubset", subsets, (items(1, 100), items(16, 100))),
)


def gradient(structure: Structure, inputs: tuple[Tensor, ...]) -> Any:
    """The log-partition and its gradient in every raw input."""
    leaves = [score.detach().requires_grad_() for score in inputs]
    return torch.autograd.grad(structure.build(*leaves).log_partition.sum(), leaves)


def samples(structure: Structure, inputs: tuple[Tensor, ...]) -> Tensor:
    """So many structures that the batch has `SAMPLES` in all."""
    distribution = structure.build(*inputs)
    return distribution.sample((math.ceil(SAMPLES / distribution.batch_shape.numel()),))


def best(structure: Structure, inputs: tuple[Tensor, ...]) -> Any:
    """The `BEST` best structures of each item."""
    return structure.build(*inputs).topk(BEST)


def row(structure: Structure, case: Case) -> list[str]:
    """Times of one case, and what they are in times of the gradient."""
    inputs = case.inputs()
    seconds = []
    for question in (gradient, samples, best):
        question(structure, inputs)  # compiles and allocates
        seconds.append(median(timed(lambda question=question: question(structure, inputs), slice_=0.5)))
    first, *others = seconds
    times = [cell for other in others for cell in (duration(other), f"{other / first:.1f}")]
    return [f"`{structure.name}`", case.name, duration(first), *times]


def report() -> str:
    """One table for all structures."""
    header = ["", "", "gradient", f"{SAMPLES} samples", "times", f"{BEST} best", "times"]
    rows = [row(structure, case) for structure in STRUCTURES for case in structure.cases]
    return table(header, rows)


def main() -> None:
    """Parses the command line, measures, prints."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions", description=__doc__)
    parser.add_argument("--output", help="page whose section 'questions' is replaced")
    arguments = parser.parse_args()
    try:
        require_section("questions", arguments.output)
        heading = machine(torch.get_num_threads())
        publish(f"{heading}\n\n{report()}", "questions", arguments.output)
    except PageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
