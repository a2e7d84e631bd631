"""Plain numbers are left where a product of four might leave the range of a double."""

import numpy as np
import pytest

from strukt.kernels import jit
from strukt.kernels.engine.rings import HIGH, LOW, count_out_of_range

pytestmark = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason=f"kernels do not compile: {jit.UNAVAILABLE}"
)


@pytest.mark.parametrize(
    ("number", "log", "lost"),
    [
        (1.0, 0.0, 0),
        (HIGH, 172.0, 0),
        (2 * HIGH, 173.0, 1),
        (np.inf, 800.0, 1),
        (LOW, -172.0, 0),
        (LOW / 2, -173.0, 1),
        (0.0, -800.0, 1),
        (0.0, -np.inf, 0),
    ],
)
def test_numbers_out_of_range_are_counted(number, log, lost):
    count = getattr(count_out_of_range, "py_func", count_out_of_range)  # compiled, only kernels may call it
    assert count(np.array([1.0, number]), -np.inf, np.array([0.0, log])) == lost
