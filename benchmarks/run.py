"""Comparison of strukt with its peers: speed, memory and errors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

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
    low_rank_grammar,
    mappings,
    mean_field,
    segmentation,
    sparsemap,
)
from benchmarks.contest import Family
from benchmarks.harness import compare, exact_truth, truth
from benchmarks.measure import WrongResultError, require_confirmed
from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import accuracy_table, speed_table

GROUPS = {
    "exact": (
        chain.FAMILY,
        segmentation.FAMILY,
        dependency.NON_PROJECTIVE,
        dependency.PROJECTIVE,
        constituency.FAMILY,
        grammar.FAMILY,
        ctc.FAMILY,
    ),
    "sparse": (*mappings.FAMILIES, *sparsemap.FAMILIES),
    "bits": (bits.FAMILY, hashing.FAMILY),
    "hmm": (hidden_markov.DENSE, hidden_markov.LOW_RANK, low_rank_grammar.FAMILY),
    "mean-field": (mean_field.FAMILY,),
}
FAMILIES = {family.name: family for group in GROUPS.values() for family in group}


def chosen(names: Sequence[str]) -> list[str]:
    """Return the names of families, from names of families and groups; all families if there are no names.

    Raises:
        ValueError: If there is no such family or group.
    """
    if unknown := set(names) - set(FAMILIES) - set(GROUPS):
        known = ", ".join((*GROUPS, *FAMILIES))
        raise ValueError(f"unknown family {', '.join(sorted(unknown))}; expected some of {known}")
    groups = [
        [family.name for family in GROUPS[name]] if name in GROUPS else [name] for name in names or GROUPS
    ]
    return [name for group in groups for name in group]


def tables(family: Family, rounds: int, threads: int) -> Iterator[str]:
    """Measure the cases of one family, and yield their table, and that of accuracy if there is one."""
    results = []
    for case in family.cases:
        print(f"{family.name} {case.name} ...", file=sys.stderr)
        measurements = compare(family, case, truth(family, case), rounds, threads)
        require_confirmed(measurements, family.contestants[0].name, f"{family.name} {case.name}")
        results.append((case, measurements))
    yield speed_table(family, results)
    if family.accuracy:
        print(f"{family.name} in arbitrary precision ...", file=sys.stderr)
        checks = [
            (case, compare(family, case, exact_truth(family, case), 0, threads)) for case in family.accuracy
        ]
        yield accuracy_table(family, checks)


def report(families: Sequence[str], rounds: int, threads: int | None, output: str | None) -> int:
    """Measure and print; return the exit code: 0, or 1 if a result is wrong or the page lacks a section.

    Args:
        families: Names of `FAMILIES`; see `chosen`.
        rounds: The number of turns of each library at each operation.
        threads: The number of threads of each library; all cores if None.
        output: A page in which the sections of the families' groups are replaced; None to print only.
    """
    threads = threads or torch.get_num_threads()
    torch.set_num_threads(threads)
    sections = {
        section: [family for family in group if family.name in families] for section, group in GROUPS.items()
    }
    requested = {section: group for section, group in sections.items() if group}
    try:
        for section in requested:
            require_section(section, output)
        for section, group in requested.items():
            heading = machine(threads)
            measured = [text for family in group for text in tables(family, rounds, threads)]
            publish("\n\n".join([heading, *measured]), section, output)
    except (WrongResultError, PageError) as error:
        print(f"nothing reported: {error}", file=sys.stderr)
        return 1
    return 0


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument(
        "families", nargs="*", metavar="FAMILY", help=f"{', '.join((*GROUPS, *FAMILIES))}; default all"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of each library at each operation")
    parser.add_argument("--threads", type=int, help="threads of each library; all cores by default")
    parser.add_argument("--output", help="page whose sections are replaced")
    arguments = parser.parse_args()
    try:
        families = chosen(arguments.families)
    except ValueError as error:
        parser.error(str(error))
    if arguments.rounds < 1:
        parser.error(f"--rounds is {arguments.rounds}; expected 1 or more")
    sys.exit(report(families, arguments.rounds, arguments.threads, arguments.output))


if __name__ == "__main__":
    main()
