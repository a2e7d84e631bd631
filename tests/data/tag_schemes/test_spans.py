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
@settings(max_examples=3 * settings().max_examples)
@given(odd_tags)
def test_spans_of_odd_tags_equal_seqeval(sequence):
    assert spans(sequence) == get_entities(sequence)


def test_an_empty_tag_is_refused():
    with pytest.raises(ValueError, match="tags: the tag at position 1 is empty; write O"):
        spans(["O", ""])


@settings(max_examples=50)
@given(tags)
def test_bilou_and_bmes_are_bioes_by_other_names(sequence):
    for names in ({"E": "L", "S": "U"}, {"I": "M"}):
        renamed = [names.get(tag[0], tag[0]) + tag[1:] for tag in sequence]
        assert spans(renamed) == spans(sequence)
