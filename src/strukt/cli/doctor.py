"""`strukt doctor`: what is installed, which backends work, and whether each kernel is right."""

from __future__ import annotations

import platform
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


def run(arguments: list[str]) -> int:
    """Prints the report; 1 if a kernel fails or disagrees with the reference."""
    _parser().parse(arguments)
    print(table(versions()))

    from strukt.cli.self_check import check_kernels
    from strukt.kernels import dispatch

    states = dispatch.backends()
    print("\n" + table([("backend", ""), *states.items()]))
    fused = [name for name, state in states.items() if state == "available" and name != "reference"]
    verdicts = list(check_kernels(fused))
    print("\n" + table([("structure", "backend", "oracle", "beside the reference"), *verdicts]))
    return 0 if all(verdict == "ok" for *_, verdict in verdicts) else 1


def versions() -> list[tuple[str, str]]:
    """The packages that matter, and the versions that are installed."""
    return [("python", platform.python_version()), *((package, _version(package)) for package in PACKAGES)]


def _parser() -> Parser:
    return Parser("doctor", "Says what is installed and which backends work, and checks each kernel.")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
