"""A pytest plugin (`-p tests.interpreted_kernels`): the compiled kernels run as plain Python, not compiled.

Without Numba the kernels' functions stay what they are; here they are used all the same.
"""

import sys


def pytest_configure() -> None:
    sys.modules["numba"] = None  # type: ignore[assignment]

    from strukt.kernels import elementary, jit  # noqa: F401  # its functions are chosen before Numba seems there

    jit.kernel = jit.inner = lambda function: function
    jit.UNAVAILABLE = None
