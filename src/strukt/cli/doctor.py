"""`strukt doctor`: report versions and backends, and check kernels against the reference."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from strukt.cli.options import Parser
from strukt.cli.table import table

PACKAGES = (
    "strukt",
    "torch",
    "numpy",
    "scipy",
    "numba",
    "triton",
    "safetensors",
    "lightning",
    "jsonargparse",
    "transformers",
    "peft",
    "fastapi",
    "ray",
)


QUICK = 12.0
"""Seconds after which no further check begins, so that the command takes half a minute with compiled kernels."""


def run(arguments: list[str]) -> int:
    """Print the report; return 1 if a kernel fails or disagrees with the reference."""
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
    print("\n" + table([("structure", "backend", "against the reference"), *_by_structure(verdicts)]))
    left = sum(verdict == NOT_CHECKED for *_, verdict in verdicts)
    print(f"\n{len(verdicts) - left} of {len(verdicts)} kernels checked in {time.monotonic() - start:.0f} s")
    if left:
        print("compiling the others takes minutes: strukt doctor --thorough checks all kernels")
    return 0 if all(verdict in ("ok", NOT_CHECKED) for *_, verdict in verdicts) else 1


def _by_structure(verdicts: Iterable[tuple[str, str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each structure and backend: the verdict on its kernels.

    Args:
        verdicts: Structure, backend, operator and verdict, as `check_kernels` yields them.
    """
    kernels: dict[tuple[str, str], dict[str, list[str]]] = {}
    for structure, backend, oracle, verdict in verdicts:
        kernels.setdefault((structure, backend), {}).setdefault(verdict, []).append(oracle)
    for (structure, backend), by_verdict in kernels.items():
        yield structure, backend, next(iter(by_verdict)) if len(by_verdict) == 1 else _several(by_verdict)


def _several(by_verdict: Mapping[str, list[str]]) -> str:
    """Return verdicts that differ as one line: the number of good kernels, and the others that were checked."""
    from strukt.cli.self_check import NOT_CHECKED

    good, total = len(by_verdict.get("ok", ())), sum(map(len, by_verdict.values()))
    bad = {each: oracles for each, oracles in by_verdict.items() if each not in ("ok", NOT_CHECKED)}
    return "; ".join([f"ok: {good} of {total}", *(f"{each}: {', '.join(bad[each])}" for each in bad)])


def versions() -> list[tuple[str, str]]:
    """Return Python and the packages that strukt uses, with their versions."""
    return [("python", platform.python_version()), *((package, _version(package)) for package in PACKAGES)]


def _parser() -> Parser:
    parser = Parser("doctor", "Report versions and backends, and check the kernels.")
    parser.add_argument(
        "--thorough", action="store_true", help="check all kernels, even if compiling them takes minutes"
    )
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="only list the code that computes each operator of each structure",
    )
    return parser


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
