"""The harness's arithmetic: errors, medians, ratios, and what it refuses."""

import math

import pytest
import torch
from benchmarks.measure import (
    TOLERANCE,
    Measurement,
    WrongResultError,
    best_peer,
    distance,
    ratio,
    require_confirmed,
    require_right,
)


def measured(contestant: str, *seconds: float, operation: str = "mode", error: float = 0.0) -> Measurement:
    return Measurement(contestant, operation, error=error, seconds=list(seconds))


@pytest.mark.parametrize(
    ("found", "expected", "error"),
    [([[0.1, 0.5]], [[0.1, 0.25]], 0.25), ([[990.0]], [[1000.0]], 0.01), ([[0], [0.5]], [[0], [0]], 0.5)],
)
def test_distance_is_absolute_or_relative_and_that_of_the_worst_tensor(found, expected, error) -> None:
    assert distance(list(map(torch.tensor, found)), list(map(torch.tensor, expected))) == pytest.approx(error)


@pytest.mark.parametrize("entry", [math.nan, math.inf])
def test_what_is_not_finite_is_never_right(entry: float) -> None:
    error = distance([torch.zeros(1), torch.tensor([entry])], [torch.zeros(1), torch.zeros(1)])
    assert not measured("a", error=error).right


def test_distance_names_the_shapes_that_differ() -> None:
    with pytest.raises(ValueError, match=r"expected shape \(2,\), got \(3,\)"):
        distance([torch.zeros(3)], [torch.zeros(2)])


def test_ratio_is_against_the_fastest_peer_that_is_right() -> None:
    measurements = [
        measured("own", 1.0, 1.0, 1.0),
        measured("slow", 30.0, 50.0, 40.0),
        measured("fast", 11.0, 9.0, 10.0),
        measured("fast but wrong", error=2 * TOLERANCE),
        measured("other operation", 0.1, operation="gradient"),
        Measurement("fails", "mode", failure="RuntimeError: no"),
    ]
    peer = best_peer(measurements, "own", "mode")
    assert peer is not None
    assert peer.contestant == "fast"
    assert ratio(measurements, "own", "mode") == 10.0


def test_ratio_without_a_right_peer_is_nan() -> None:
    assert math.isnan(ratio([measured("own", 1.0), measured("peer", error=1.0)], "own", "mode"))


def test_a_wrong_result_and_a_failure_of_ours_are_refused_but_not_those_of_a_peer() -> None:
    with pytest.raises(WrongResultError, match=r"chain 2x3: mode of own is wrong \(error 5.0e-01, allowed 1"):
        require_right([measured("own", error=0.5), measured("peer")], "own", "chain 2x3")
    with pytest.raises(WrongResultError, match="RuntimeError: no"):
        require_right([Measurement("own", "mode", failure="RuntimeError: no")], "own", "chain 2x3")
    require_right([measured("own"), measured("peer", error=0.5)], "own", "chain 2x3")


def test_one_peer_confirms_each_operation_that_any_peer_answers() -> None:
    right, wrong = measured("a", operation="log-partition"), measured("a", operation="gradient", error=0.5)
    require_confirmed([measured("own"), measured("a", error=0.5), measured("b")], "own", "chain")
    with pytest.raises(WrongResultError, match="chain: no peer agrees with own in gradient"):
        require_confirmed([right, wrong], "own", "chain")
    missing = Measurement("a", "mode", failure="NotImplementedError: no decoder")
    require_confirmed([measured("a", operation="gradient"), missing], "own", "chain")
    with pytest.raises(WrongResultError, match="no peer agrees with own in any operation"):
        require_confirmed([measured("own"), missing], "own", "chain")
