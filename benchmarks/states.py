"""The cost of hidden Markov models of low rank: seconds and memory, by number of states and rank."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import torch

from benchmarks import hidden_markov
from benchmarks.contest import Case
from benchmarks.harness import compare, truth
from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import table

STATES = (4096, 16_384, 65_536)
RANKS = (64, 256, 512)
WORDS = 1000

OWN = replace(hidden_markov.LOW_RANK, contestants=hidden_markov.LOW_RANK.contestants[:1])


def row(states: int, rank: int, rounds: int) -> list[str]:
    """Return a row with seconds, and megabytes besides the parameters, without and with the gradient."""
    case = hidden_markov.low_rank(states, rank, WORDS)
    measured = {m.operation: m for m in compare(OWN, case, truth(OWN, case), rounds, torch.get_num_threads())}
    cells = [
        text
        for operation in OWN.operations
        for text in (f"{measured[operation].median:.2f}", f"{measured[operation].extra / 1e6:,.0f}")
    ]
    return [f"{states:,}", str(rank), f"{_megabytes(case):,.0f}", *cells]


def _megabytes(case: Case) -> float:
    return 4 * sum(torch.Size(shape).numel() for shape in case.shapes) / 1e6


def report(rounds: int) -> str:
    """Return one table, with a row for each number of states and each rank."""
    header = [
        "states", "rank", "parameters, MB", "log-partition, s", "log-partition, MB", "gradient, s", "gradient, MB",
    ]  # fmt: skip
    return table(header, (row(states, rank, rounds) for states in STATES for rank in RANKS))


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.states", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="times that each case is measured")
    parser.add_argument("--output", help="page whose section 'states' is replaced")
    arguments = parser.parse_args()
    try:
        require_section("states", arguments.output)
        text = f"{machine(torch.get_num_threads())}\n\n{report(arguments.rounds)}"
        publish(text, "states", arguments.output)
    except PageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
