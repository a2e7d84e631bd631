"""`strukt benchmark`: compare strukt with other libraries, from a checkout of the repository."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path

import strukt
from strukt.cli.console import UsageError
from strukt.cli.options import Parser, require_least

CHECKOUT = Path(strukt.__file__).resolve().parents[2]
"""The root of the repository, if strukt runs from a checkout of it."""


def run(arguments: list[str]) -> int:
    """Print each table as soon as it is measured; return 1 if a library computes a wrong result.

    Raises:
        UsageError: If an option is invalid, strukt does not run from a checkout, there is no such family, or `gpu`
            finds no GPU.
    """
    options = _parser().parse(arguments)
    require_least(options, rounds=1, threads=1)
    if not 0 <= options.seconds < math.inf:
        raise UsageError(f"--seconds is {options.seconds}; expected a finite number, 0 or more")
    if options.family != "gpu" and (options.only or options.seconds):
        raise UsageError("--only and --seconds are for strukt benchmark gpu")
    if not (CHECKOUT / "benchmarks" / "run.py").is_file():
        raise UsageError(
            "the benchmarks are not part of the installed package: clone the repository, and run "
            "`python -m benchmarks.setup` in it, which creates an environment with the other libraries"
        )
    sys.path.insert(0, str(CHECKOUT))
    if options.family == "gpu":
        return _on_gpu(options)
    benchmarks = import_module("benchmarks.run")
    try:
        chosen = benchmarks.chosen([options.family])
    except ValueError as error:
        raise UsageError(str(error)) from None
    return int(benchmarks.report(chosen, options.rounds, options.threads, options.output))


def _on_gpu(options: Namespace) -> int:
    """Measure on a GPU, in this process, one library after another."""
    gpu = import_module("benchmarks.gpu.report")
    page = import_module("benchmarks.page")
    only = [name for name in options.only.split(",") if name]
    try:
        gpu.report(only, options.seconds or gpu.SECONDS, options.output)
    except (ValueError, RuntimeError, page.PageError) as error:
        raise UsageError(str(error)) from None
    return 0


def _parser() -> Parser:
    parser = Parser("benchmark", "Run strukt and each installed peer on the same inputs, in turn.")
    parser.add_argument(
        "family",
        metavar="FAMILY",
        help="exact (structures), sparse (mappings), bits, hmm, mean-field, a single family such as chain, or gpu",
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each library for each operation (5)")
    parser.add_argument("--threads", type=int, help="threads of each library (all cores)")
    parser.add_argument("--output", help="Markdown page whose sections are replaced")
    parser.add_argument(
        "--only", default="", help="for gpu: families and tables to measure, such as chain,ctc,operators (all)"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="for gpu: total time limit (540)")
    return parser
