"""`strukt doctor`: what is installed, which backends work, and whether each kernel is right."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version

from strukt.cli.options import Parser
from strukt.cli.table import table

PACKAGES = (
    "strukt",
    "torch",
    "numpy",
    "scipy",
    "numba",
    "safetensors",
    "lightning",
    "jsonargparse",
    "transformers",
    "peft",
    "fastapi",
    "ray",
)


QUICK = 12.0
"""Seconds after which nothing more is checked, so that all takes half a minute where nothing is compiled yet."""


def run(arguments: list[str]) -> int:
    """Prints the report; 1 if a kernel fails or disagrees with the reference."""
    options = _parser().parse(arguments)
    if options.kernels:
        from strukt.cli import kernel_table

        print("\n\n".join(table(list(kernel_table.rows(backend))) for backend in ("cpu", "gpu")))
        return 0
    print(table(versions()))

    from strukt.cli.self_check import NOT_CHECKED, check_kernels
    from strukt.kernels import dispatch

    states = dispatch.backends()
    print("\n" + table([("backend", ""), *states.items()]))
    fused = [name for name, state in states.items() if state == "available" and name != "reference"]
    start = time.monotonic()
    verdicts = list(check_kernels(fused, math.inf if options.thorough else QUICK))
    print("\n" + table([("structure", "backend", "beside the reference"), *_by_structure(verdicts)]))
    left = sum(verdict == NOT_CHECKED for *_, verdict in verdicts)
    print(f"\n{len(verdicts) - left} of {len(verdicts)} kernels checked in {time.monotonic() - start:.0f} s")
    if left:
        print("kernels that must be compiled first take minutes: strukt doctor --thorough checks all of them")
    return 0 if all(verdict in ("ok", NOT_CHECKED) for *_, verdict in verdicts) else 1


def _by_structure(verdicts: Iterable[tuple[str, str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """A line for each structure: one verdict, if it is that of all its kernels, else which has which."""
    kernels: dict[tuple[str, str], dict[str, list[str]]] = {}
    for structure, backend, oracle, verdict in verdicts:
        kernels.setdefault((structure, backend), {}).setdefault(verdict, []).append(oracle)
    for (structure, backend), found in kernels.items():
        several = "; ".join(f"{verdict}: {', '.join(oracles)}" for verdict, oracles in found.items())
        yield structure, backend, several if len(found) > 1 else next(iter(found))


def versions() -> list[tuple[str, str]]:
    """The packages that matter, and the versions that are installed."""
    return [("python", platform.python_version()), *((package, _version(package)) for package in PACKAGES)]


def _parser() -> Parser:
    parser = Parser("doctor", "Says what is installed and which backends work, and checks the kernels.")
    parser.add_argument(
        "--thorough", action="store_true", help="check all of them, however long they take to compile"
    )
    parser.add_argument(
        "--kernels", action="store_true", help="only say which code answers each question about each structure"
    )
    return parser


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
