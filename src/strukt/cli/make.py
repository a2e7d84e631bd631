"""`strukt make`: generate random corpora for tasks whose answers can be computed from the input."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from strukt.cli import console, outputs
from strukt.cli.console import UsageError
from strukt.cli.options import Parser, require_least
from strukt.data.corpora.synthetic import DIGITS, sequences
from strukt.data.files import LONGEST_LINE
from strukt.data.listops.expressions import OPERATORS, expressions, parse

DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "sort": {"shortest": 5, "longest": 15, "largest": 99},
        "count": {"shortest": 5, "longest": 15},
        "listops": {"longest": 100, "depth": 20, "arguments": 5, "operators": "MIN,MAX,MED,SM"},
    }
)
"""The options of each task, with their defaults."""

LEAST = {"number": 1, "shortest": 1, "longest": 1, "depth": 1, "arguments": 2, "seed": 0}
"""The least value of each option."""


def run(arguments: list[str]) -> int:
    """Write a corpus, one example per line."""
    options = _parser().parse(arguments)
    task = console.choose(options.task, DEFAULTS, "task")
    _fill_in(options, task)
    outputs.require_corpus(options.output, [], options.force)
    lines = _expressions(options) if task == "listops" else _numbers(options)
    with outputs.opened(options.output) as stream:
        for line in lines:
            stream.write(line + "\n")
    console.message(f"wrote {outputs.name_of(options.output)}")
    return 0


def _fill_in(options: Namespace, task: str) -> None:
    """Set missing options of a task to their defaults; reject options of other tasks and values below `LEAST`."""
    for name in {name for defaults in DEFAULTS.values() for name in defaults}:
        if name in DEFAULTS[task]:
            if getattr(options, name) is None:
                setattr(options, name, DEFAULTS[task][name])
        elif getattr(options, name) is not None:
            tasks = [known for known, defaults in DEFAULTS.items() if name in defaults]
            raise UsageError(f"--{name} is for the task{'s' * (len(tasks) > 1)} {' and '.join(tasks)}")
    require_least(options, **LEAST)


def _numbers(options: Namespace) -> Iterator[str]:
    """Return the lines of a corpus for the task sort or count: numbers separated by spaces."""
    largest = 1 if options.largest is None else options.largest
    if options.longest < options.shortest:
        raise UsageError(f"--longest is {options.longest}; expected {options.shortest} or more")
    if not 0 <= largest < 10**DIGITS:
        raise UsageError(f"--largest is {largest}; expected 0 or more, with up to {DIGITS} digits")
    _require_fitting_line(options, len(str(largest)) + 1)

    examples = sequences(options.number, options.shortest, options.longest, largest, options.seed)
    return (" ".join(map(str, sequence)) for sequence in examples)


def _expressions(options: Namespace) -> Iterator[str]:
    """Return the lines of a corpus for the task listops, as `_solved` yields them."""
    names = options.operators.upper().split(",")
    known = [operator.removeprefix("[") for operator in OPERATORS]
    for name in names:
        console.choose(name, known, "operator")
    _require_fitting_line(options, max(map(len, names)) + 2)

    operators = [f"[{name}" for name in names]
    return _solved(
        expressions(
            options.number, operators, options.arguments, options.depth, options.longest, options.seed
        )
    )


def _solved(examples: Iterator[str]) -> Iterator[str]:
    """Yield a line for each expression: its value, a tab, and the expression."""
    try:
        for expression in examples:
            yield f"{parse(expression).value}\t{expression}"
    except ValueError as error:
        raise UsageError(str(error)) from None


def _require_fitting_line(options: Namespace, widest: int) -> None:
    """Raise `UsageError` if the longest example does not fit into a line of `LONGEST_LINE` bytes.

    Args:
        options: The options of the command.
        widest: The most characters of a number or symbol and the space after it.
    """
    if options.longest * widest > LONGEST_LINE:
        raise UsageError(
            f"--longest is {options.longest}; expected at most {LONGEST_LINE // widest}, to fit into a line"
        )


def _parser() -> Parser:
    parser = Parser("make", "Generate a corpus of random examples, one per line.")
    parser.add_argument("task", metavar="TASK", help=f"task of the corpus: {', '.join(DEFAULTS)}")
    outputs.add_required(parser, "FILE")
    parser.add_argument("-n", "--number", type=int, default=10_000, help="number of examples (10000)")
    parser.add_argument("--shortest", type=int, help="length of the shortest example, in numbers (5)")
    parser.add_argument(
        "--longest",
        type=int,
        help="length of the longest example, in numbers (15), or in symbols of an expression (100)",
    )
    parser.add_argument("--largest", type=int, help="largest number to sort (99); the smallest is 0")
    parser.add_argument("--depth", type=int, help="maximum depth of nested operators in an expression (20)")
    parser.add_argument(
        "--arguments", type=int, help="maximum number of arguments of an operator (5); the minimum is 2"
    )
    parser.add_argument(
        "--operators",
        metavar="NAMES",
        help="operators of expressions, from MIN, MAX, MED, SM, FIRST and LAST (MIN,MAX,MED,SM)",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (1)")
    outputs.add_force(parser)
    return parser
