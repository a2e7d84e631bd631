"""Spans of tags equal those of seqeval in its default mode."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from tests.fuzz.grammars import tags

from strukt.data.tag_schemes.spans import spans

odd_tags = st.lists(
    st.sampled_from(["O", "B", "I", "E", "S", "B-", "I-X", "B-X", "X-X", ".", "I-O", "E-Y", "S-X-Y", "-"]),
    min_size=1,
    max_size=10,
)


@given(tags)
def test_spans_equal_seqeval(sequence):
    assert spans(sequence) == get_entities(sequence)


@pytest.mark.filterwarnings("ignore:.*seems not to be NE tag")
@settings(max_examples=300)
@given(odd_tags)
def test_spans_of_odd_tags_equal_seqeval(sequence):
    assert spans(sequence) == get_entities(sequence)


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        (["B-PER", "I-PER", "O", "B-LOC"], [("PER", 0, 1), ("LOC", 3, 3)]),
        (["B-PER", "B-PER"], [("PER", 0, 0), ("PER", 1, 1)]),
        (["I-PER", "I-PER", "B-PER"], [("PER", 0, 1), ("PER", 2, 2)]),
        (["B-PER", "I-LOC"], [("PER", 0, 0), ("LOC", 1, 1)]),
        (["S-PER", "B-PER", "I-PER", "E-PER"], [("PER", 0, 0), ("PER", 1, 3)]),
        (["O", "E-PER"], [("PER", 1, 1)]),
        (["B-creative-work", "I-creative-work"], [("creative-work", 0, 1)]),
        (["O", "O"], []),
        ([], []),
    ],
)
def test_spans_by_hand(sequence, expected):
    assert spans(sequence) == expected


@settings(max_examples=50)
@given(tags)
def test_bilou_and_bmes_are_bioes_by_other_names(sequence):
    for names in ({"E": "L", "S": "U"}, {"I": "M"}):
        renamed = [names.get(tag[0], tag[0]) + tag[1:] for tag in sequence]
        assert spans(renamed) == spans(sequence)


def test_spans_of_bilou():
    assert spans(["U-X", "B-X", "I-X", "L-X", "U-X", "O"]) == [("X", 0, 0), ("X", 1, 3), ("X", 4, 4)]
    assert spans(["B", "M", "E", "S", "B", "E"]) == [("_", 0, 2), ("_", 3, 3), ("_", 4, 5)]
