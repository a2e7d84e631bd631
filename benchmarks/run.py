"""strukt and the peers side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import torch

from benchmarks import chain, constituency, ctc, dependency, grammar, segmentation
from benchmarks.contest import Family
from benchmarks.harness import compare, exact_truth, truth
from benchmarks.measure import WrongResultError, require_confirmed
from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import accuracy_table, speed_table

FAMILIES = {
    family.name: family
    for family in (
        chain.FAMILY,
        segmentation.FAMILY,
        dependency.NON_PROJECTIVE,
        dependency.PROJECTIVE,
        constituency.FAMILY,
        grammar.FAMILY,
        ctc.FAMILY,
    )
}


def tables(family: Family, rounds: int, threads: int) -> Iterator[str]:
    """The tables of one family, as they are measured."""
    for case in family.cases:
        print(f"{family.name} {case.name} ...", file=sys.stderr)
        measurements = compare(family, case, truth(family, case), rounds, threads)
        require_confirmed(measurements, family.contestants[0].name, f"{family.name} {case.name}")
        yield speed_table(family, case, measurements)
    if family.accuracy:
        print(f"{family.name} in arbitrary precision ...", file=sys.stderr)
        checks = [
            (case, compare(family, case, exact_truth(family, case), 0, threads)) for case in family.accuracy
        ]
        yield accuracy_table(family, checks)


def report(families: Sequence[str], rounds: int, threads: int | None, output: str | None) -> int:
    """Measures and prints; exit code 1 if a result is wrong.

    Args:
        families: Names out of `FAMILIES`.
        rounds: Turns of each library at each operation.
        threads: Of each library; all cores if None.
        output: A page whose section 'peers' is replaced.
    """
    threads = threads or torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        require_section("peers", output)
        heading = machine(threads)
        measured = [text for name in families for text in tables(FAMILIES[name], rounds, threads)]
        publish("\n\n".join([heading, *measured]), "peers", output)
    except (WrongResultError, PageError) as error:
        print(f"nothing reported: {error}", file=sys.stderr)
        return 1
    return 0


def main() -> None:
    """Parses the command line and reports."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"{', '.join(FAMILIES)}; default all")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each library at each operation")
    parser.add_argument("--threads", type=int, help="of each library; all cores if not given")
    parser.add_argument("--output", help="page whose section 'peers' is replaced")
    arguments = parser.parse_args()
    if unknown := set(arguments.families) - set(FAMILIES):
        parser.error(f"unknown family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    sys.exit(
        report(arguments.families or list(FAMILIES), arguments.rounds, arguments.threads, arguments.output)
    )


if __name__ == "__main__":
    main()
