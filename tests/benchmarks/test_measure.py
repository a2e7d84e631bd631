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


def test_median_is_not_moved_by_one_slow_run() -> None:
    assert measured("a", 1.0, 2.0, 900.0).median == 2.0


def test_distance_is_absolute_for_small_and_relative_for_large_entries() -> None:
    assert distance([torch.tensor([0.1, 0.5])], [torch.tensor([0.1, 0.25])]) == pytest.approx(0.25)
    assert distance([torch.tensor([990.0])], [torch.tensor([1000.0])]) == pytest.approx(0.01)


def test_distance_takes_the_worst_tensor() -> None:
    good, bad = torch.zeros(2), torch.tensor([0.0, 0.5])
    assert distance([good, bad], [torch.zeros(2), torch.zeros(2)]) == 0.5


def test_distance_of_nan_is_nan_and_never_right() -> None:
    error = distance([torch.zeros(1), torch.tensor([math.nan])], [torch.zeros(1), torch.zeros(1)])
    assert math.isnan(error)
    assert not measured("a", error=error).right


def test_distance_of_infinity_is_not_right() -> None:
    assert not measured("a", error=distance([torch.tensor([math.inf])], [torch.zeros(1)])).right


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


def test_a_wrong_result_of_ours_is_refused() -> None:
    with pytest.raises(WrongResultError, match=r"chain 2x3: mode of own is wrong \(error 5.0e-01, allowed 1"):
        require_right([measured("own", error=0.5), measured("peer")], "own", "chain 2x3")


def test_a_failure_of_ours_is_refused() -> None:
    with pytest.raises(WrongResultError, match="RuntimeError: no"):
        require_right([Measurement("own", "mode", failure="RuntimeError: no")], "own", "chain 2x3")


def test_a_wrong_peer_is_not_refused() -> None:
    require_right([measured("own"), measured("peer", error=0.5)], "own", "chain 2x3")


def test_a_reference_that_one_peer_confirms_is_accepted() -> None:
    require_confirmed([measured("own"), measured("a", error=0.5), measured("b")], "own", "chain")


def test_a_reference_that_nobody_confirms_is_refused() -> None:
    with pytest.raises(WrongResultError, match="chain 2x3: no peer agrees with own in mode"):
        require_confirmed([measured("own"), measured("a", error=0.5)], "own", "chain 2x3")


def test_every_operation_needs_its_own_confirmation() -> None:
    right = measured("a", operation="log-partition")
    with pytest.raises(WrongResultError, match="no peer agrees with own in gradient"):
        require_confirmed([right, measured("a", operation="gradient", error=0.5)], "own", "chain")


def test_an_operation_that_no_peer_answers_needs_none() -> None:
    missing = Measurement("a", "mode", failure="NotImplementedError: no decoder")
    require_confirmed([measured("a", operation="gradient"), missing], "own", "chain")
    with pytest.raises(WrongResultError, match="no peer agrees with own in any operation"):
        require_confirmed([measured("own"), missing], "own", "chain")
