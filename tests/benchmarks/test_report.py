"""The tables, cell by cell."""

import math

from benchmarks.contest import OPERATIONS, TRAINING, Case, Contestant, Family
from benchmarks.measure import Measurement
from benchmarks.report import accuracy_table, chart_size, duration, error_cell, speed_table, table, time_cell

CASE = Case("2x3", ((2, 3),), chart=250_000)
CONTESTANTS = tuple(Contestant(name, lambda scores: scores) for name in ("own", "peer", "broken"))
FAMILY = Family("choice", "Choice", (CASE,), CASE, CONTESTANTS, lambda scores, event: scores)


def measurements() -> list[Measurement]:
    times = [0.001, 0.002, 0.009]
    own = [Measurement("own", name, error=1e-7, extra=1e6, seconds=times) for name in OPERATIONS]
    peer = [Measurement("peer", name, error=2e-5, extra=8e6, seconds=[0.03]) for name in OPERATIONS]
    peer[2] = Measurement("peer", "mode", failure="NotImplementedError: no decoder")
    broken = [Measurement("broken", name, failure="RuntimeError: out of paper\ntrace") for name in OPERATIONS]
    broken[1] = Measurement("broken", "gradient", error=0.25, extra=2e6)
    return own + peer + broken


def cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_table_pads_its_columns() -> None:
    assert table(["a", "long"], [["wide", "x"]]) == "| a    | long |\n|------|------|\n| wide | x    |"


def test_duration_has_three_digits() -> None:
    assert [duration(s) for s in (0.0000123, 0.00123, 0.0123, 1.234)] == [
        "0.0123 ms",
        "1.23 ms",
        "12.3 ms",
        "1234 ms",
    ]


def test_chart_is_in_kilobytes_where_megabytes_would_round_to_nothing() -> None:
    sizes = (0, 200, 25_000, 130_000)
    assert [chart_size(Case("", (), chart)).strip() for chart in sizes] == [
        "",
        "Chart: 0.8 kB.",
        "Chart: 0.10 MB.",
        "Chart: 0.52 MB.",
    ]


def test_cells_say_what_is_wrong() -> None:
    assert time_cell(Measurement("a", "mode", error=0.25)) == "wrong (error 2.5e-01)"
    assert time_cell(Measurement("a", "mode", error=math.nan)) == "wrong (error nan)"
    assert time_cell(Measurement("a", "mode", failure="NotImplementedError: no decoder")) == "none"
    assert time_cell(Measurement("a", "mode", failure="RuntimeError: no")) == "failed"
    assert error_cell(Measurement("a", "mode", error=3e-6)) == "3e-06"
    assert error_cell(Measurement("a", "mode", error=0.3)) == "wrong (3e-01)"


def test_speed_table_has_times_memory_errors_and_ratios() -> None:
    text = speed_table(FAMILY, CASE, measurements())
    rows = cells(text)
    assert rows[2] == ["own", "2.00 ms", "2.00 ms", "2.00 ms", "1.0 / 1.0 / 1.0", "1e-07 / 1e-07 / 1e-07"]
    assert rows[3] == ["peer", "30.0 ms", "30.0 ms", "none", "8.0 / 8.0 / -", "2e-05 / 2e-05 / -"]
    assert rows[4][1:4] == ["failed", "wrong (error 2.5e-01)", "failed"]
    assert rows[5][:4] == ["own faster than the best peer", "**15.0 x**", "**15.0 x**", "-"]
    assert "Chart: 1.00 MB." in text


def test_a_training_step_has_a_column_between_gradient_and_mode() -> None:
    family = Family("choice", "Choice", (CASE,), CASE, CONTESTANTS[:2], operations=TRAINING)
    timed = [
        Measurement(name, operation, error=0.0, extra=0.0, seconds=[seconds])
        for name, factor in (("own", 1.0), ("peer", 3.0))
        for operation, seconds in zip(TRAINING, (0.001, 0.002, 0.003 * factor, 0.004), strict=True)
    ]
    rows = cells(speed_table(family, CASE, timed))
    assert rows[0][1:5] == ["log-partition", "with its gradient", "training step", "mode"]
    assert [rows[2][3], rows[3][3]] == ["3.00 ms", "9.00 ms"]
    assert rows[4][3] == "**3.0 x**"


def test_failures_are_told_once_per_reason_in_one_line() -> None:
    text = speed_table(FAMILY, CASE, measurements())
    assert text.endswith("\n\n- broken (log-partition, mode): RuntimeError: out of paper")


def test_accuracy_table_has_a_row_per_case_and_library() -> None:
    text = accuracy_table(FAMILY, [(CASE, measurements())])
    rows = cells(text)
    assert rows[2] == ["2x3", "own", "1e-07", "1e-07", "1e-07"]
    assert rows[4] == ["2x3", "broken", "failed", "wrong (2e-01)", "failed"]


def test_a_yardstick_has_a_time_and_is_no_peer() -> None:
    own, scale = (
        Contestant("own", lambda scores: scores),
        Contestant("scale", lambda scores: scores, yardstick="Softmax"),
    )
    family = Family("map", "Map", (CASE,), CASE, (own, scale), operations={"forward": lambda *_: ()})
    timed = [
        Measurement("own", "forward", error=0.0, extra=0.0, seconds=[0.002]),
        Measurement("scale", "forward", extra=0.0, seconds=[0.001], yardstick=True),
    ]
    rows = cells(speed_table(family, CASE, timed))
    assert rows[0][1:2] == ["forward"]
    assert rows[3][:2] == ["Softmax", "1.00 ms"]
    assert rows[3][3] == "-"
    assert rows[4][1] == "-"
