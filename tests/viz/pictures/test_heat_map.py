"""What a heat map accepts, and what it says."""

import math

import pytest

from strukt.viz import HeatMap


@pytest.mark.parametrize("values", [[], [[1, 2]], [[1, 2], [3]], [[1, 2], [3, 4], [5, 6]]])
def test_there_is_a_number_for_each_row_and_column(values):
    with pytest.raises(ValueError, match=r"^values: got \d (rows|in row '\w'), expected 2"):
        HeatMap("T", ["a", "b"], ["c", "d"], values)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_are_finite(value):
    with pytest.raises(ValueError, match=rf"^values: got {value} in row 'b', expected finite numbers"):
        HeatMap("T", ["a", "b"], ["c"], [[0.0], [value]])


def test_shades_reach_from_the_smallest_to_the_largest():
    assert HeatMap("T", ["a"], ["b", "c", "d"], [[-1, 0, 3]]).shades() == [[0, 0.25, 1]]


def test_equal_numbers_have_no_shade():
    assert HeatMap("T", ["a"], ["b", "c"], [[7, 7]]).shades() == [[0, 0]]


def test_numbers_are_written_alike():
    assert HeatMap("T", ["a"], ["b", "c"], [[1, 10.0]]).numbers() == [["1", "10"]]
    assert HeatMap("T", ["a"], ["b", "c"], [[1, 0.256]]).numbers() == [["1.00", "0.26"]]


def test_the_description_names_every_cell():
    table = HeatMap("Distance", ["NP", "VP"], ["S", "Q"], [[1, 2], [3, 4]])
    assert table.description() == "Distance: NP × S 1, NP × Q 2, VP × S 3, VP × Q 4"


def test_an_empty_table():
    table = HeatMap("Nothing", [], [], [])
    assert (table.shades(), table.numbers(), table.description()) == ([], [], "Nothing: ")
