"""Options and settings shared by all tests."""

import functools
import gc
import os
import re
import signal
from typing import Any

import hypothesis
import pytest
from tests.thinning import is_thinned_out

from strukt.kernels.compiling import NOTICE

# The first call of a kernel compiles it, and machines are shared: an example has no deadline.
hypothesis.settings.register_profile("slow", deadline=None, derandomize=True)
hypothesis.settings.register_profile("interpreted", hypothesis.settings.get_profile("slow"), max_examples=15)
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("slow"), max_examples=10)

# A line on standard error that one of the tests would find, whichever compiles for two seconds.
NOTICE.silence()

# A shell starts what runs in the background with Control-C ignored, and processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Kernels for GPUs run as Python where there is none; Triton asks when it is imported.
os.environ.setdefault("TRITON_INTERPRET", "0" if os.path.exists("/dev/nvidiactl") else "1")

if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores: one thread each, before torch is imported
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

SAME_KERNELS = {
    "LowRankPCFG": "PCFG",
    "tests/kernels/engine/test_visits.py": "tables",
    "tests/known_failures/test_mappings.py": "KSubset",
    **dict.fromkeys(
        (
            "BitSpanTree",
            "LexicalisedTree",
            "LinearChain",
            "ProjectiveTree",
            "SecondOrderTree",
            "SemiMarkov",
            "SpanTree",
        ),
        "tables",
    ),
}
"""Structures and files whose tests compile the same kernels, by the name of the group."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also the tests marked slow, and more examples")


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("slow" if config.getoption("--slow") else "quick")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a structure, or else a file, to one worker as a whole: two would compile the same kernels at a time."""
    from xdist.scheduler import LoadScopeScheduling

    class ByKernels(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "test_a_seeded_bug" in nodeid:  # which compiles for itself
                return nodeid
            named = re.search(r"\[(?:.*-)?((?!True|False|None)[A-Z][A-Za-z]+)", nodeid)
            scope = named.group(1) if named else nodeid.split("::")[0]
            return SAME_KERNELS.get(scope, scope)

    return ByKernels(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests, of which to skip each one takes time, and skip those that need a GPU."""
    if not config.getoption("--slow"):
        quick, slow = [], []
        for item in items:
            (slow if item.get_closest_marker("slow") or is_thinned_out(item) else quick).append(item)
        config.hook.pytest_deselected(items=slow)
        items[:] = quick
    on_gpus = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpus and not _has_gpu():
        for item in on_gpus:
            item.add_marker(pytest.mark.skip(reason="gpu: PyTorch sees no GPU"))


@functools.cache
def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def pytest_collection_finish() -> None:
    """Modules and tests are there to stay: the collector of garbage need not go through them time and again."""
    gc.collect()
    gc.freeze()


_cached = functools.cache(functools.cache)


@pytest.fixture
def one_parser_per_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the parser of a task's options once for all tests, because that takes longer than to parse."""
    from strukt.cli import configuration

    monkeypatch.setattr(configuration, "build", _cached(configuration.build))


@pytest.fixture(autouse=True)
def seed() -> None:
    """Draw the same numbers in every run and on every worker: what fails once fails again."""
    import random

    import numpy
    import torch

    random.seed(0)
    numpy.random.seed(0)
    if _has_gpu():
        torch.manual_seed(0)
    else:  # the function for all devices takes a millisecond: it formats the stack for each kind of them
        torch.default_generator.manual_seed(0)
