"""Curves: their numbers, and where these stand in the picture."""

import itertools
import math
import re

import pytest

from strukt.viz import Curves, svg, terminal

CURVES = Curves("error", ["1-5", "6-10", "11-15"], {"with": [1.0, 2.0, 5.0], "without": [3.0, 3.0, 4.5]})


def points(picture):
    paths = re.findall(r'class="arc" [^>]* d="M([^"]*)"', picture)
    return [[tuple(map(float, point.split())) for point in path.split(" L")] for path in paths]


@pytest.mark.parametrize("values", [[1.0], [1.0, math.nan, 2.0], [1.0, math.inf, 2.0]])
def test_each_place_has_a_finite_number(values):
    with pytest.raises(ValueError, match=r"^curves has .* expected"):
        Curves("error", ["a", "b", "c"], {"with": values})


def test_larger_numbers_stand_higher():
    first, second = points(svg.draw(CURVES))
    every = sorted(zip([1.0, 2.0, 5.0, 3.0, 3.0, 4.5], [y for _, y in first + second], strict=True))
    assert [y for _, y in every] == sorted((y for _, y in every), reverse=True)
    assert [x for x, _ in first] == [x for x, _ in second] == sorted({x for x, _ in first})


def test_numbers_far_apart_stand_as_their_logarithms():
    curves = Curves("error", ["a", "b", "c"], {"with": [0.01, 1.0, 100.0]})
    assert curves.heights() == {"with": pytest.approx([0.0, 0.5, 1.0])}
    assert [label for _, label in curves.ticks()] == ["0.01", "1", "100"]
    assert not Curves("error", ["a", "b"], {"with": [0.0, 100.0]}).is_logarithmic


def test_equal_numbers_and_no_numbers_are_drawn_too():
    assert Curves("error", ["a", "b"], {"with": [2.0, 2.0]}).heights() == {"with": [0.0, 0.0]}
    assert Curves("error", ["a", "b"], {"with": [2.0, 2.0]}).ticks() == [(0.0, "2")]
    for empty in (Curves("error", [], {}), Curves("error", [], {"with": []})):
        assert svg.draw(empty).startswith("<svg")


def test_names_do_not_cover_each_other():
    curves = Curves("error", ["a"], {f"<{index}>": [1.0] for index in range(7)})
    picture = svg.draw(curves)
    heights = sorted(float(y) for y in re.findall(r'class="label" x="[^"]*" y="([^"]*)"', picture))
    assert len(heights) == 7
    assert all(after - before >= 15 for before, after in itertools.pairwise(heights))
    assert "&lt;3&gt;" in picture


SPREAD = Curves("F1", ["6", "8"], {"codes": [70.0, 72.0], "labels": [73.0, 73.0]}, {"codes": [0.5, 1.0]})


def test_error_bars_reach_one_deviation_up_and_down():
    assert SPREAD.ticks() == [(0.0, "69.5"), (0.5, "71.2"), (1.0, "73")]
    assert SPREAD.error_bars("codes") == [(0.0, pytest.approx(1 / 3.5)), (pytest.approx(1.5 / 3.5), 1.0)]
    assert SPREAD.error_bars("labels") == []
    bars = re.findall(r'class="branch" d="M(\S+) (\S+) L(\S+) (\S+) M', svg.draw(SPREAD))
    assert len(bars) == 2
    for (x, low, same, high), (point, middle) in zip(bars, points(svg.draw(SPREAD))[0], strict=True):
        assert float(x) == float(same) == point
        assert float(low) + float(high) == pytest.approx(2 * middle, abs=0.2)
        assert float(low) > float(high)


def test_deviations_stand_beside_the_numbers():
    assert SPREAD.description() == "F1; codes: 6 70 ± 0.5, 8 72 ± 1; labels: 6 73, 8 73"
    assert "70 ± 0.5  " in terminal.draw(SPREAD, 60)
    # An error bar that reaches 0 rules out a logarithmic scale.
    assert not Curves("error", ["a", "b"], {"with": [0.01, 100.0]}, {"with": [0.01, 1.0]}).is_logarithmic


@pytest.mark.parametrize(
    ("deviations", "message"),
    [
        ({"code": [1.0, 1.0]}, "deviations has 'code'; expected names of curves"),
        ({"codes": [1.0]}, "deviations has 1 numbers for 'codes'; expected 2"),
        ({"codes": [1.0, -1.0]}, "deviations has -1.0 for 'codes'; expected finite non-negative numbers"),
        ({"codes": [1.0, math.nan]}, "deviations has nan for 'codes'"),
    ],
)
def test_wrong_deviations_are_refused(deviations, message):
    with pytest.raises(ValueError, match=message):
        Curves("F1", ["6", "8"], {"codes": [70.0, 72.0]}, deviations)
