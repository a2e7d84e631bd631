"""A pytest plugin (`-p tests.interpreted_kernels`): the compiled kernels run as plain Python, not compiled.

Without Numba the kernels' functions stay what they are; here they are used all the same.
"""

import sys

import hypothesis
import pytest


@pytest.hookimpl(trylast=True)  # after the profile of --slow: plain Python takes a hundred times as long
def pytest_configure() -> None:
    hypothesis.settings.load_profile("interpreted")
    sys.modules["numba"] = None  # type: ignore[assignment]

    from strukt.kernels import elementary, jit  # noqa: F401  # its functions are chosen before Numba seems there

    jit.kernel = jit.inner = lambda function: function
    jit.UNAVAILABLE = None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Draw samples last: that takes most of the time, and most bugs show without it."""
    items.sort(key=lambda item: "samples" in item.name)
