"""Learning rates as functions of the progress."""

import pytest

from strukt.train.learning_rate import halvings, rate


def test_the_rate_rises_and_falls_in_straight_lines():
    assert [rate(done / 10, 0.2) for done in range(11)] == pytest.approx(
        [0, 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0]
    )


def test_the_rate_without_a_rise():
    assert [rate(done, 0.0) for done in (0.0, 0.5, 1.0, 1.1)] == [1, 0.5, 0, 0]


@pytest.mark.parametrize(
    ("qualities", "expected"), [([], 0), ([1.0], 0), ([1.0, 1.0, 1.0], 1), ([3.0, 1.0, 2.0, 4.0, 1.0], 1)]
)
def test_halvings(qualities, expected):
    assert halvings([(quality,) for quality in qualities], patience=2) == expected
