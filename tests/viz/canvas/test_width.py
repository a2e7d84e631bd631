"""Columns of text, against what terminals do."""

import pytest

from strukt.viz.canvas.width import clusters, display_width, pad, printable


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("国境", 4), ("e\u0301", 1), ("한국", 4), ("a\u200db", 2), ("🙂", 2)],
)
def test_display_width(text, columns):
    assert display_width(text) == columns
    assert display_width(pad(text, 10)) == 10


def test_clusters_keep_marks_with_their_letter_if_there_is_one():
    assert list(clusters("ne\u0301e")) == [("n", 1), ("e\u0301", 1), ("e", 1)]
    assert list(clusters("\u0301a")) == [("\u0301", 0), ("a", 1)]


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "a\rb", "\x07", "\u2028", "\x9b31m", "\ufffe", "\uffff"])
def test_nothing_can_steer_the_terminal(text):
    shown = printable(text)
    assert "�" in shown
    assert shown.isprintable()
