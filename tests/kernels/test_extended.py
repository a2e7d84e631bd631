"""Numbers with an exponent of any size: as logs say, where doubles underflow, with zeros."""

import itertools
import math

import numpy as np
import pytest

from strukt.kernels import extended

LOGS = [0.0, 1.0, -1.0, 177.4, -177.5, 354.9, -1e4, 1e4, 123456.789, -3e8]


@pytest.mark.parametrize("log", LOGS)
def test_a_log_comes_back(log):
    mantissa, rank = extended.from_log(log)
    assert 2.0**-257 < mantissa < 2.0**257
    assert rank == round(rank)
    assert math.isclose(extended.to_log(mantissa, rank), log, rel_tol=1e-14, abs_tol=1e-13)


@pytest.mark.parametrize("log", [-1e18, 1e25, -1e300])
def test_absurd_logs_stay_finite(log):
    mantissa, rank = extended.from_log(log)
    assert 0.0 < mantissa < math.inf
    assert math.isclose(extended.to_log(mantissa, rank), log, rel_tol=1e-12)


def test_zero_is_known_by_its_rank():
    mantissa, rank = extended.from_log(-np.inf)
    assert rank == -np.inf
    assert math.isfinite(mantissa)
    assert extended.to_log(mantissa, rank) == -np.inf
    assert extended.to_log(*extended.settled(mantissa * 1e-200, rank)) == -np.inf
    assert extended.at_rank(mantissa, rank, 3.0) == 0.0
    assert extended.share(mantissa, rank, 1.0, 0.0) == 0.0


def test_products_sums_and_shares():
    for one, two in itertools.product(LOGS[:-1], repeat=2):
        terms = (left, left_rank), (right, right_rank) = extended.from_log(one), extended.from_log(two)
        mantissa, rank = extended.settled(left * right, left_rank + right_rank)
        assert 2.0**-256 <= mantissa <= 2.0**256
        assert math.isclose(extended.to_log(mantissa, rank), one + two, rel_tol=1e-14, abs_tol=1e-11)
        top = max(left_rank, right_rank)
        total = sum(extended.at_rank(*term, top) for term in terms)
        expected = np.logaddexp(one, two)
        assert math.isclose(extended.to_log(total, top), expected, rel_tol=1e-14, abs_tol=1e-11), (one, two)
        parts = [extended.share(*term, total, top) for term in terms]
        assert math.isclose(sum(parts), 1.0, rel_tol=1e-14), (one, two)
        assert math.isclose(parts[0], math.exp(min(one - expected, 0.0)), rel_tol=1e-9, abs_tol=1e-70), (one, two)


def test_a_share_of_two_factors_far_apart():
    """Ranks of +3 and -3 and the total of rank 0 make an ordinary probability."""
    (left, up), (right, down) = extended.from_log(1000.0), extended.from_log(-1001.0)
    assert math.isclose(extended.share(left * right, up + down, 1.0, 0.0), math.exp(-1.0), rel_tol=1e-11)


def test_thousands_of_products_do_not_underflow():
    factor, factor_rank = extended.from_log(-35.0)
    mantissa, rank = 1.0, 0.0
    for _ in range(5000):
        mantissa, rank = extended.settled(mantissa * factor, rank + factor_rank)
    assert math.isclose(extended.to_log(mantissa, rank), -175000.0, rel_tol=1e-14)
