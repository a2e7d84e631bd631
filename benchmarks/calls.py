"""The cost of calls with little to compute: for one item of length 20, beside an addition."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any

from torch import Tensor

from benchmarks import chain, constituency, ctc, dependency, grammar, segmentation
from benchmarks.page import section_command
from benchmarks.report import table
from benchmarks.structures import (
    Structure,
    alignments,
    an_event,
    brackets,
    items,
    log_partition_gradient,
    of_targets,
    per_step,
    squares,
    subsets,
    training_step,
)
from strukt import distributions

BLOCK = 0.002  # seconds of repetition between two readings of the clock, which take half a microsecond themselves
BLOCKS = 100

STRUCTURES = (
    Structure("LinearChain", distributions.LinearChain, (chain.case(1, 20, 10), per_step(1, 20, 10))),
    Structure("SemiMarkov", distributions.SemiMarkov, (segmentation.case(1, 20, 8, 10),)),
    Structure("ProjectiveTree", distributions.ProjectiveTree, (dependency.case(1, 20),)),
    Structure("SpanTree", distributions.SpanTree, (constituency.case(1, 20, 10),)),
    Structure("SpanTree", brackets, (squares(1, 20, fenceposts=True),)),
    Structure("BitSpanTree", distributions.BitSpanTree, (constituency.case(1, 20, 10),)),
    Structure("PCFG", grammar.distribution, (grammar.case(1, 20, 10, 20),)),
    Structure("MonotoneAlignment", distributions.MonotoneAlignment, (alignments(1, 20, 20),)),
    Structure("CTC", of_targets, (ctc.case(1, 20, 10),)),
    Structure("KSubset", subsets, (items(1, 20),)),
    Structure("NonProjectiveTree", distributions.NonProjectiveTree, (dependency.case(1, 20),)),
    Structure("SpanningTree", distributions.SpanningTree, (squares(1, 20),)),
    Structure("Matching", distributions.Matching, (squares(1, 10),)),
)


CALLS = ("constructor", "log-partition", "gradient", "training step", "mode")


def calls(structure: Structure, inputs: tuple[Tensor, ...]) -> Mapping[str, Callable[[], Any]]:
    """Return the timed calls by name; each constructs a new distribution."""
    event = an_event(structure, inputs)

    def build() -> Any:
        return structure.build(*inputs)

    return {
        "constructor": build,
        "log-partition": lambda: build().log_partition,
        "gradient": lambda: log_partition_gradient(structure, inputs),
        "training step": lambda: training_step(structure, inputs, event),
        "mode": lambda: build().mode,
    }


def microseconds(action: Callable[[], object], blocks: int = BLOCKS) -> float:
    """Return the median CPU microseconds of one run, over blocks of runs that are long enough for the clock."""
    repeats = 1
    while _spent(action, repeats) < BLOCK:
        repeats *= 2
    return 1e6 * median(_spent(action, repeats) / repeats for _ in range(blocks))


def _spent(action: Callable[[], object], repeats: int) -> float:
    """Return the CPU seconds of several runs together."""
    start = time.process_time()
    for _ in range(repeats):
        action()
    return time.process_time() - start


def rows(structure: Structure, blocks: int = BLOCKS) -> Iterator[list[str]]:
    """Yield a row for each case: the microseconds of an addition and of each call."""
    for case in structure.cases:
        inputs = case.inputs()
        largest = max(inputs, key=Tensor.numel)
        cells = [f"{microseconds(lambda largest=largest: largest + largest, blocks):.1f}"]
        for action in calls(structure, inputs).values():
            action()  # compiles and allocates
            cells.append(f"{microseconds(action, blocks):.0f}")
        yield [f"`{structure.name}`", case.name, *cells]


def report() -> str:
    """Return one table for all structures."""
    header = ["structure", "sizes", *(f"{name}, us" for name in ("addition", *CALLS))]
    return table(header, (row for structure in STRUCTURES for row in rows(structure)))


if __name__ == "__main__":
    section_command("calls", "calls", __doc__, report)
