"""A pytest plugin (`-p tests.interpreted_kernels`): the compiled kernels run as plain Python, not compiled.

Without Numba the kernels' functions stay what they are; here they are used all the same.
"""

import sys

sys.modules["numba"] = None  # type: ignore[assignment]

from strukt.kernels import jit  # noqa: E402

jit.kernel = lambda function: function
jit.UNAVAILABLE = None
