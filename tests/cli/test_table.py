"""Tables in columns."""

from strukt.cli.table import percentages, table
from strukt.viz.canvas.width import display_width


def test_numbers_stand_flush_right_without_space_at_the_end_of_a_line():
    assert table([("a", ""), ("b", "x")]).split("\n")[0] == "a"
    assert table([("UAS", "1.5"), ("accuracy", "100.0")]) == "UAS         1.5\naccuracy  100.0"


def test_wide_characters_take_two_columns():
    lines = table([("国", "1"), ("abc", "1")]).split("\n")
    assert len({display_width(line) for line in lines}) == 1


def test_percentages_have_two_digits():
    assert percentages({"F1": 99.999, "precision": 1}) == "F1         100.00\nprecision    1.00"
