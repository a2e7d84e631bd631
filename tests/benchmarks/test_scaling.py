"""The fitted exponents."""

import math

import pytest
from benchmarks.scaling import SERIES, exponent


@pytest.mark.parametrize("power", [0, 1, 2.5, 3])
def test_exponent_of_a_power_law_is_its_power(power: float) -> None:
    sizes = (10, 20, 40, 80)
    assert exponent(sizes, [7.0 * size**power for size in sizes]) == pytest.approx(power, abs=1e-9)


def test_each_series_grows_in_the_inputs_that_it_names() -> None:
    for series in SERIES:
        entries = [sum(map(math.prod, series.case(size).shapes)) for size in series.sizes]
        assert entries == sorted(set(entries))
