"""Versions and machine of a training run, recorded so that its scores can be reproduced."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import torch

PACKAGES = ("strukt", "torch", "numpy", "numba", "lightning", "safetensors", "transformers")


def environment() -> dict[str, str | int]:
    """Return the versions of Python and packages, the system, the numbers of CPUs and threads, and the GPU's name.

    Examples:
        >>> environment()["torch"] == torch.__version__
        True
    """
    record: dict[str, str | int] = {package: _version(package) for package in PACKAGES}
    return record | {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": os.cpu_count() or 0,
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
