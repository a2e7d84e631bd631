"""The cost of a training step, as a multiple of the log-partition with its gradient."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

from benchmarks import chain, constituency, ctc, dependency, grammar, segmentation
from benchmarks.page import section_command
from benchmarks.report import milliseconds, table
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

TURNS = 5
SLICE = 0.2  # seconds of one turn

STRUCTURES = (
    Structure(
        "LinearChain",
        distributions.LinearChain,
        (
            chain.case(32, 128, 32),
            chain.case(8, 1000, 16),
            chain.case(16, 64, 256),
            chain.case(32, 30, 49),
            per_step(8, 60, 16),
        ),
    ),
    Structure("SemiMarkov", distributions.SemiMarkov, (segmentation.case(8, 128, 8, 16),)),
    Structure("ProjectiveTree", distributions.ProjectiveTree, (dependency.case(16, 40),)),
    Structure("NonProjectiveTree", distributions.NonProjectiveTree, (dependency.case(32, 40),)),
    Structure(
        "SpanTree", distributions.SpanTree, (constituency.case(16, 40, 32), constituency.case(4, 100, 32))
    ),
    Structure("SpanTree", brackets, (squares(16, 40, fenceposts=True),)),
    Structure("BitSpanTree", distributions.BitSpanTree, (constituency.case(16, 40, 8),)),
    Structure("PCFG", grammar.distribution, (grammar.case(4, 30, 30, 60),)),
    Structure("MonotoneAlignment", distributions.MonotoneAlignment, (alignments(16, 50, 60),)),
    Structure("CTC", of_targets, (ctc.case(16, 200, 32),)),
    Structure("KSubset", subsets, (items(16, 100),)),
    Structure("SpanningTree", distributions.SpanningTree, (squares(16, 20),)),
    Structure("Matching", distributions.Matching, (squares(8, 10),)),
)


def in_turn(
    actions: tuple[Callable[[], object], ...], turns: int = TURNS, slice_: float = SLICE
) -> list[float]:
    """Return the median CPU seconds of this thread for each action, run in the order A B A B under equal load."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(turns):
        for action, spent in zip(actions, seconds, strict=True):
            end = time.thread_time() + slice_
            while not spent or time.thread_time() < end:
                start = time.thread_time()
                action()
                spent.append(time.thread_time() - start)
    return [median(spent) for spent in seconds]


def rows(structure: Structure, turns: int = TURNS, slice_: float = SLICE) -> Iterator[list[str]]:
    """Yield a row for each case: both times and their ratio."""
    for case in structure.cases:
        inputs = case.inputs()
        event = an_event(structure, inputs)
        actions = (
            lambda inputs=inputs: log_partition_gradient(structure, inputs),
            lambda inputs=inputs, event=event: training_step(structure, inputs, event),
        )
        for action in actions:
            action()  # compiles and allocates
        sums, step = in_turn(actions, turns, slice_)
        yield [f"`{structure.name}`", case.name, milliseconds(sums), milliseconds(step), f"{step / sums:.2f}"]


def report() -> str:
    """Return one table for all structures."""
    header = ["structure", "sizes", "gradient, ms", "training step, ms", "ratio"]
    return table(header, (row for structure in STRUCTURES for row in rows(structure)))


if __name__ == "__main__":
    section_command("steps", "steps", __doc__, report)
