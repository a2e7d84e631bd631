"""The growth of each recursion's time with its sizes, such as the length and the number of labels."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median

import torch

from benchmarks import (
    bits,
    chain,
    constituency,
    ctc,
    dependency,
    grammar,
    hashing,
    hidden_markov,
    segmentation,
)
from benchmarks.contest import Case, Family
from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import headings, milliseconds, table
from benchmarks.worker import timed

HEADER = (
    "structure", "size that grows, and other sizes", "its values", "gradient, ms", "exponent of log-partition",
    "exponent of gradient", "exponent of mode",
)  # fmt: skip


@dataclass(frozen=True)
class Series:
    """Cases that differ in one size.

    Attributes:
        family: The structure.
        variable: The name of the size that grows, and the other sizes.
        sizes: The values of this size, large enough that the recursion outweighs the cost of a call.
        case: Function from a value of the size to the case.
        theory: The exponent of the size in the number of arithmetic operations, for each operation of the family.
    """

    family: Family
    variable: str
    sizes: tuple[int, ...]
    case: Callable[[int], Case]
    theory: Mapping[str, int]


SERIES = (
    Series(
        chain.FAMILY,
        "length, 32 labels",
        (256, 512, 1024, 2048),
        lambda length: chain.case(8, length, 32),
        {"log-partition": 1, "gradient": 1, "mode": 1},
    ),
    Series(
        chain.FAMILY,
        "labels, length 64",
        (64, 128, 256, 512),
        lambda labels: chain.case(8, 64, labels),
        {"log-partition": 2, "gradient": 2, "mode": 2},
    ),
    Series(
        dependency.NON_PROJECTIVE,
        "words",
        (40, 80, 160, 320),
        lambda words: dependency.case(8, words),
        {"log-partition": 3, "gradient": 3, "mode": 2},
    ),
    Series(
        dependency.PROJECTIVE,
        "words",
        (40, 80, 160, 320),
        lambda words: dependency.case(8, words),
        {"log-partition": 3, "gradient": 3, "mode": 3},
    ),
    Series(
        segmentation.FAMILY,
        "length, segments up to 8, 16 labels",
        (256, 512, 1024, 2048),
        lambda length: segmentation.case(8, length, 8, 16),
        {"log-partition": 1, "gradient": 1, "mode": 1},
    ),
    Series(
        segmentation.FAMILY,
        "labels, length 64, segments up to 8",
        (32, 64, 128, 256),
        lambda labels: segmentation.case(8, 64, 8, labels),
        {"log-partition": 2, "gradient": 2, "mode": 2},
    ),
    Series(
        constituency.FAMILY,
        "words, 4 labels",
        (40, 80, 160, 320),
        lambda words: constituency.case(8, words, 4),
        {"log-partition": 3, "gradient": 3, "mode": 3},
    ),
    Series(
        constituency.FAMILY,
        "labels, 20 words",
        (32, 64, 128, 256),
        lambda labels: constituency.case(16, 20, labels),
        {"log-partition": 1, "gradient": 1, "mode": 1},
    ),
    Series(
        grammar.FAMILY,
        "words, 10 + 20 symbols",
        (20, 40, 80, 160),
        lambda words: grammar.case(4, words, 10, 20),
        {"log-partition": 3, "gradient": 3, "mode": 3},
    ),
    Series(
        grammar.FAMILY,
        "nonterminals, as many preterminals, 20 words",
        (10, 20, 40, 80),
        lambda symbols: grammar.case(4, 20, symbols, symbols),
        {"log-partition": 3, "gradient": 3, "mode": 3},
    ),
    Series(
        ctc.FAMILY,
        "frames, labels of a fifth of them",
        (200, 400, 800, 1600),
        lambda frames: ctc.case(8, frames, 32),
        {"log-partition": 2, "gradient": 2, "mode": 2},
    ),
    Series(
        hidden_markov.LOW_RANK,
        "states, rank 64, 1,000 words",
        (4096, 8192, 16_384, 32_768),
        lambda states: hidden_markov.low_rank(states, 64, 1000),
        {"log-partition": 1, "gradient": 1},
    ),
    Series(
        hidden_markov.LOW_RANK,
        "rank, 4,096 states, 1,000 words",
        (64, 128, 256, 512),
        lambda rank: hidden_markov.low_rank(4096, rank, 1000),
        {"log-partition": 1, "gradient": 1},
    ),
    Series(
        hidden_markov.DENSE,
        "states, 1,000 words",
        (512, 1024, 2048, 4096),
        lambda states: hidden_markov.dense(states, 1000),
        {"log-partition": 2, "gradient": 2},
    ),
    Series(
        bits.FAMILY,
        "bits, 40 words",
        (8, 16, 32, 62),
        lambda size: constituency.case(16, 40, size),
        {"log-partition": 1, "gradient": 1, "mode": 1},
    ),
    Series(
        hashing.FAMILY,
        "spans, 8 bits",
        (1000, 2000, 4000, 8000),
        lambda spans: hashing.case(spans, 8),
        {"forward": 1, "gradient": 1},
    ),
    Series(
        hashing.FAMILY,
        "spans, 12 bits: the number of codes grows with them up to 4,096",
        (1000, 2000, 4000, 8000),
        lambda spans: hashing.case(spans, 12),
        {"forward": 2, "gradient": 2},
    ),
)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the exponent that fits the times best: the slope of the regression between their logarithms."""
    logarithms = [torch.tensor(values, dtype=torch.float64).log().tolist() for values in (sizes, seconds)]
    return linear_regression(*logarithms).slope


def measure(series: Series, operation: str) -> list[float]:
    """Return the median seconds of strukt at each size."""
    action, own = series.family.operations[operation], series.family.contestants[0]
    medians = []
    for size in series.sizes:
        inputs = series.case(size).inputs()
        action(own, inputs)  # compiles and allocates
        medians.append(median(timed(lambda inputs=inputs: action(own, inputs), slice_=0.3)))
    return medians


def row(series: Series) -> list[str]:
    """Return a row: the times of the gradient, and for each operation the exponent, fitted and in theory."""
    seconds = {operation: measure(series, operation) for operation in series.theory}
    fitted = [
        f"{exponent(series.sizes, seconds[operation]):.2f} ({expected})"
        for operation, expected in series.theory.items()
    ]
    sizes, times = (", ".join(each) for each in (map(str, series.sizes), map(milliseconds, seconds["gradient"])))
    cells = [headings(series.family.title)[0], series.variable, sizes, times, *fitted]
    return [*cells, *["-"] * (len(HEADER) - len(cells))]


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--output", help="page whose section 'scaling' is replaced")
    arguments = parser.parse_args()
    try:
        require_section("scaling", arguments.output)
        heading = machine(torch.get_num_threads())
        publish(f"{heading}\n\n{table(HEADER, map(row, SERIES))}", "scaling", arguments.output)
    except PageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
