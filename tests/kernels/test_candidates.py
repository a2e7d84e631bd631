"""Lists of candidates keep the best, in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.kernels import jit
from strukt.kernels.cpu_kbest import (
    Candidates,
    make_candidates,
    offer,
    offer_others,
    score_to_beat,
    take_candidate,
)

pytestmark = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason=f"kernels do not compile: {jit.UNAVAILABLE}"
)
SCORES = st.lists(st.floats(-5, 5) | st.just(-np.inf), max_size=12)


def collect(values: list[float], k: int) -> Candidates:
    """Candidates that deviate from the best of k structures."""
    candidates = make_candidates(k)
    for place, value in enumerate(values):
        offer(candidates, 0, place + 2, place + 3, value)
    return candidates


@given(SCORES, st.integers(1, 7))
def test_the_best_are_taken_in_order(values, k):
    candidates = collect(values, k)
    possible = sorted((value for value in values if value > -np.inf), reverse=True)
    for expected in possible[: k - 1]:
        score, rank, place, choice = take_candidate(candidates)
        assert score == values[place - 2] == expected
        assert (rank, choice) == (0, place + 1)
    assert take_candidate(candidates)[0] == -np.inf


@given(SCORES.filter(bool), st.integers(1, 7), st.data())
def test_all_others_are_offered(ways, k, data):
    chosen = data.draw(st.sampled_from([i for i, way in enumerate(ways) if way > -np.inf] or [0]))
    if ways[chosen] == -np.inf:
        return
    at_once, one_by_one = make_candidates(k), make_candidates(k)
    offer_others(at_once, 0, 4, np.array(ways), chosen, 7.0)
    for choice, way in enumerate(ways):
        if choice != chosen:
            offer(one_by_one, 0, 4, choice, 7.0 + (way - ways[chosen]))
    for _ in range(k):
        assert take_candidate(at_once) == take_candidate(one_by_one)


def test_no_more_are_kept_than_there_are_ranks_to_fill():
    candidates = collect([1.0, 3.0, 2.0, 0.0], 4)
    assert score_to_beat(candidates, 0) == 1.0
    assert take_candidate(candidates)[0] == 3.0
    assert score_to_beat(candidates, 1) == 1.0
    offer(candidates, 1, 9, 9, 1.5)
    assert take_candidate(candidates)[:3] == (2.0, 0, 4)
    assert take_candidate(candidates) == (1.5, 1, 9, 9)
    assert score_to_beat(candidates, 3) == np.inf
