"""The fitted exponents."""

import math
from dataclasses import replace

import pytest
from benchmarks.scaling import SERIES, exponent

from benchmarks import scaling


@pytest.mark.parametrize("power", [0, 1, 2.5, 3])
def test_exponent_of_a_power_law_is_its_power(power: float) -> None:
    sizes = (10, 20, 40, 80)
    assert exponent(sizes, [7.0 * size**power for size in sizes]) == pytest.approx(power, abs=1e-9)


def test_each_series_grows_in_the_inputs_that_it_names() -> None:
    for series in SERIES:
        entries = [sum(map(math.prod, series.case(size).shapes)) for size in series.sizes]
        assert entries == sorted(set(entries))


def test_a_row_holds_times_and_exponents(monkeypatch: pytest.MonkeyPatch) -> None:
    series = replace(SERIES[0], sizes=(1, 10), variable="length", theory={"log-partition": 1, "gradient": 2})
    monkeypatch.setattr(scaling, "measure", lambda series, name: [0.001, 0.001 * 10 ** series.theory[name]])
    assert scaling.row(series) == ["Linear chain", "length", "1, 10", "1.00, 100", "1.00 (1)", "2.00 (2)", "-"]
    assert len(scaling.row(series)) == len(scaling.HEADER)
