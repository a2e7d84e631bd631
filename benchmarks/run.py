"""strukt and the peers side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import torch

from benchmarks import chain, constituency, ctc, dependency, grammar
from benchmarks.contest import Family
from benchmarks.harness import compare, exact_truth, truth
from benchmarks.measure import WrongResultError, require_confirmed
from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import accuracy_table, speed_table

FAMILIES = {
    family.name: family
    for family in (
        chain.FAMILY,
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


def main() -> None:
    """Parses the command line, measures, prints; exit code 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"{', '.join(FAMILIES)}; default all")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each library at each operation")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of each library")
    parser.add_argument("--output", help="page whose section 'peers' is replaced")
    arguments = parser.parse_args()
    if unknown := set(arguments.families) - set(FAMILIES):
        parser.error(f"unknown family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    torch.set_num_threads(arguments.threads)
    try:
        require_section("peers", arguments.output)
        chosen = [FAMILIES[name] for name in arguments.families or FAMILIES]
        heading = machine(arguments.threads)
        measured = [text for family in chosen for text in tables(family, arguments.rounds, arguments.threads)]
        publish("\n\n".join([heading, *measured]), "peers", arguments.output)
    except (WrongResultError, PageError) as error:
        sys.exit(f"nothing reported: {error}")


if __name__ == "__main__":
    main()
