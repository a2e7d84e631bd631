"""The tables, cell by cell."""

import math

from benchmarks.contest import OPERATIONS, TRAINING, Case, Contestant, Family
from benchmarks.measure import Measurement
from benchmarks.report import (
    accuracy_table,
    duration,
    error_cell,
    milliseconds,
    speed_table,
    time_cell,
)

CASE = Case("2x3", ((2, 3),))
CONTESTANTS = tuple(Contestant(name, lambda scores: scores) for name in ("own", "peer", "broken"))
FAMILY = Family("choice", "Choice (batch x n), of one", (CASE,), CASE, CONTESTANTS, lambda scores, event: scores)


def measurements() -> list[Measurement]:
    times = [0.001, 0.002, 0.009]
    largest = zip(OPERATIONS, (3e-8, 1e-7, 0.0), (2e5, 1e6, 1e5), strict=True)
    own = [Measurement("own", name, error=error, extra=extra, seconds=times) for name, error, extra in largest]
    peer = [Measurement("peer", name, error=2e-5, extra=8e6, seconds=[0.03]) for name in OPERATIONS]
    peer[2] = Measurement("peer", "mode", failure="NotImplementedError: no decoder")
    broken = [Measurement("broken", name, failure="RuntimeError: out of paper\ntrace") for name in OPERATIONS]
    broken[1] = Measurement("broken", "gradient", error=0.25, extra=2e6)
    return own + peer + broken


def cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_times_have_three_digits() -> None:
    assert [milliseconds(s) for s in (0.0000123, 0.00123, 0.0123, 1.234)] == ["0.0123", "1.23", "12.3", "1234"]
    assert duration(0.0123) == "12.3 ms"


def test_cells_say_what_is_wrong() -> None:
    assert time_cell(Measurement("a", "mode", error=math.nan)) == "wrong (error nan)"
    assert error_cell(Measurement("a", "mode", error=3e-6)) == "3e-06"
    assert error_cell(Measurement("a", "mode", error=0.3)) == "wrong (3e-01)"


def test_speed_table_has_times_memory_errors_and_ratios() -> None:
    text = speed_table(FAMILY, [(CASE, measurements()), (Case("4x6", ((4, 6),)), measurements())])
    rows = cells(text)
    assert text.startswith("### Choice, of one\n\n")
    times = ["log-partition, ms", "gradient, ms", "mode, ms"]
    assert rows[0] == ["batch x n", "library", *times, "memory, MB", "error"]
    assert rows[2] == ["2x3", "own", "2.00", "2.00", "2.00", "1.0", "1e-07"]
    assert rows[3] == ["", "peer", "30.0", "30.0", "none", "8.0", "2e-05"]
    assert rows[4] == ["", "broken", "failed", "wrong (error 2.5e-01)", "failed", "2.0", "2e-01"]
    assert rows[5] == ["", "**speed-up**", "**15.0 x**", "**15.0 x**", "-", "", ""]
    assert [row[0] for row in rows[6:]] == ["4x6", "", "", ""]


def test_a_training_step_has_a_column_between_gradient_and_mode() -> None:
    family = Family("choice", "Choice (batch x n)", (CASE,), CASE, CONTESTANTS[:2], operations=TRAINING)
    timed = [
        Measurement(name, operation, error=0.0, extra=0.0, seconds=[seconds])
        for name, factor in (("own", 1.0), ("peer", 3.0))
        for operation, seconds in zip(TRAINING, (0.001, 0.002, 0.003 * factor, 0.004), strict=True)
    ]
    rows = cells(speed_table(family, [(CASE, timed)]))
    assert rows[0][2:6] == ["log-partition, ms", "gradient, ms", "training step, ms", "mode, ms"]
    assert [row[4] for row in rows[2:]] == ["3.00", "9.00", "**3.0 x**"]


def test_failures_are_told_once_per_reason_in_one_line() -> None:
    text = speed_table(FAMILY, [(CASE, measurements())])
    assert text.endswith("\n\n- 2x3, broken (log-partition, mode): RuntimeError: out of paper")


def test_accuracy_table_has_a_row_per_case_and_library() -> None:
    text = accuracy_table(FAMILY, [(CASE, measurements())])
    rows = cells(text)
    assert rows[2] == ["2x3", "own", "3e-08", "1e-07", "0e+00"]
    assert rows[4] == ["", "broken", "failed", "wrong (2e-01)", "failed"]


def test_a_yardstick_has_a_time_and_is_no_peer() -> None:
    own, scale = (
        Contestant("own", lambda scores: scores),
        Contestant("scale", lambda scores: scores, yardstick="Softmax"),
    )
    family = Family("map", "Map (rows)", (CASE,), CASE, (own, scale), operations={"forward": lambda *_: ()})
    timed = [
        Measurement("own", "forward", error=0.0, extra=0.0, seconds=[0.002]),
        Measurement("scale", "forward", extra=0.0, seconds=[0.001], yardstick=True),
    ]
    rows = cells(speed_table(family, [(CASE, timed)]))
    assert rows[0][2] == "forward, ms"
    assert rows[3] == ["", "Softmax", "1.00", "0.0", "-"]
    assert rows[4][2] == "-"
