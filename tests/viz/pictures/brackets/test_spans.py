"""Labels fit over their words."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.viz.pictures.brackets.test_picture import diagrams

from strukt.viz import Bracket
from strukt.viz.pictures.brackets.spans import Spans


@given(diagrams(), st.data())
def test_words_and_labels_have_the_room_that_they_need(tree, data):
    room = st.integers(0, 30)
    words = data.draw(st.lists(room, min_size=len(tree.forms), max_size=len(tree.forms)))
    labels = data.draw(st.lists(room, min_size=len(tree.brackets), max_size=len(tree.brackets)))
    spans = Spans(words, tree.brackets, labels, gap=2)
    extents = [spans.extent(word, word + 1) for word in range(len(words))]
    assert all(stop - start >= needed for (start, stop), needed in zip(extents, words, strict=True))
    assert all(left[1] + 2 == right[0] for left, right in pairwise(extents))
    assert (extents[0][0], extents[-1][1]) == (0, spans.width)
    for bracket, needed in zip(tree.brackets, labels, strict=True):
        start, stop = spans.extent(bracket.start, bracket.end)
        assert stop - start >= needed


def test_missing_room_is_shared():
    spans = Spans([1, 1, 1], [Bracket("S", 0, 3)], [12], gap=2)
    assert [spans.extent(word, word + 1) for word in range(3)] == [(0, 3), (5, 8), (10, 12)]


def test_nothing_is_wider_than_needed():
    assert Spans([3, 4], [Bracket("S", 0, 2)], [9], gap=2).width == 9
