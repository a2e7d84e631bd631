"""`strukt make`: corpora of random numbers, for the tasks whose answers follow from the numbers."""

from __future__ import annotations

from argparse import Namespace

from strukt.cli import console
from strukt.cli.console import UsageError
from strukt.cli.options import Parser
from strukt.data.files import LONGEST_LINE
from strukt.data.synthetic import DIGITS

LARGEST = {"sort": 99, "count": 1}
"""The tasks, and the largest number of their corpora."""


def run(arguments: list[str]) -> int:
    """Writes a corpus, one example a line."""
    options = _parser().parse(arguments)
    largest = _largest(options)
    _require_fitting(options)

    from strukt.data.files import atomic_write
    from strukt.data.synthetic import sequences

    with atomic_write(options.output) as stream:
        for sequence in sequences(options.number, options.shortest, options.longest, largest, options.seed):
            stream.write(" ".join(map(str, sequence)) + "\n")
    console.message(f"wrote {options.output}")
    return 0


def _largest(options: Namespace) -> int:
    task = console.choose(options.task, LARGEST, "task")
    if options.largest is None:
        return LARGEST[task]
    if task == "count":
        raise UsageError("--largest is for the task sort; the numbers of count are 0 and 1")
    return int(options.largest)


def _require_fitting(options: Namespace) -> None:
    for name, least in (("number", 1), ("shortest", 1), ("longest", options.shortest), ("seed", 0)):
        if getattr(options, name) < least:
            raise UsageError(f"--{name} is {getattr(options, name)}; expected {least} or more")
    if options.largest is not None and not 0 <= options.largest < 10**DIGITS:
        raise UsageError(
            f"--largest is {options.largest}; expected a number from 0 on of up to {DIGITS} digits"
        )
    widest = len(str(_largest(options))) + 1
    if options.longest * widest > LONGEST_LINE:
        raise UsageError(
            f"--longest is {options.longest}; expected at most {LONGEST_LINE // widest}, for a line"
        )


def _parser() -> Parser:
    parser = Parser(
        "make", "Makes a corpus of random numbers, one example a line, the same for the same seed."
    )
    parser.add_argument("task", metavar="TASK", help=f"what it is for: {', '.join(LARGEST)}")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="write this file")
    parser.add_argument("-n", "--number", type=int, default=10_000, help="how many examples (10000)")
    parser.add_argument("--shortest", type=int, default=5, help="numbers in the shortest example (5)")
    parser.add_argument("--longest", type=int, default=15, help="numbers in the longest example (15)")
    parser.add_argument("--largest", type=int, help="the largest number to sort (99); the smallest is 0")
    parser.add_argument("--seed", type=int, default=1, help="other numbers give other corpora (1)")
    return parser
