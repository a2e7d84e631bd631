"""Lists of candidates keep the best, in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.kernels import jit
from strukt.kernels.cpu_candidates import drop_first, offer

pytestmark = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason=f"kernels do not compile: {jit.UNAVAILABLE}"
)


def collect(values: list[float], room: int) -> tuple[np.ndarray, np.ndarray, int]:
    scores, entries, count = np.zeros(room), np.zeros((room, 3), np.int64), 0
    for place, value in enumerate(values):
        count = offer(scores, entries, count, value, place + 1, place + 2, place + 3)
    return scores, entries, count


@given(st.lists(st.floats(-5, 5) | st.just(-np.inf), max_size=12), st.integers(0, 6))
def test_the_best_are_kept_in_order(values, room):
    scores, entries, count = collect(values, room)
    possible = sorted((value for value in values if value > -np.inf), reverse=True)
    assert scores[:count].tolist() == possible[:room]
    for score, (rank, place, choice) in zip(scores[:count], entries[:count], strict=True):
        assert values[rank - 1] == score
        assert (place, choice) == (rank + 1, rank + 2)


def test_the_first_is_dropped():
    scores, entries, count = collect([1.0, 3.0, 2.0], 3)
    count = drop_first(scores, entries, count)
    assert count == 2
    assert scores[:2].tolist() == [2.0, 1.0]
    assert entries[:2, 0].tolist() == [3, 1]
