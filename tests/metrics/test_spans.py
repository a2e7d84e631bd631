"""Span scores equal those of seqeval in its default mode."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from tests.fuzz.grammars import tags

from strukt.metrics.spans import SpanF1, spans

odd_tags = st.lists(
    st.sampled_from(["O", "B", "I", "E", "S", "B-", "I-X", "B-X", "X-X", ".", "I-O", "E-Y", "S-X-Y", "-"]),
    min_size=1,
    max_size=10,
)


@st.composite
def tag_pairs(draw):
    gold = draw(tags)
    mixed = [tag if draw(st.booleans()) else draw(tags)[0] for tag in gold]
    return gold, mixed


def quietly(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


@given(tags)
def test_spans_equal_seqeval(sequence):
    assert spans(sequence) == get_entities(sequence)


@settings(max_examples=300)
@given(odd_tags)
def test_spans_of_odd_tags_equal_seqeval(sequence):
    assert spans(sequence) == quietly(get_entities, sequence)


@settings(max_examples=200)
@given(st.lists(tag_pairs(), min_size=1, max_size=4))
def test_scores_equal_seqeval(pairs):
    score = SpanF1()
    for gold, predicted in pairs:
        score.update(gold, predicted)
    all_gold, all_predicted = [gold for gold, _ in pairs], [predicted for _, predicted in pairs]
    assert score.result() == pytest.approx(
        {
            "precision": 100 * quietly(precision_score, all_gold, all_predicted),
            "recall": 100 * quietly(recall_score, all_gold, all_predicted),
            "f1": 100 * quietly(f1_score, all_gold, all_predicted),
        }
    )


@given(st.lists(tag_pairs(), min_size=1, max_size=4))
def test_scores_by_label_add_up(pairs):
    score = SpanF1()
    for gold, predicted in pairs:
        score.update(gold, predicted)
    by_label = score.details()["label"]
    assert sorted(by_label) == list(by_label)
    assert set(by_label) == {label for pair in pairs for side in pair for label, _, _ in spans(side)}
    if len(by_label) == 1:
        [only] = by_label.values()
        assert only == score.result()


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


def test_a_span_needs_both_borders_and_the_label():
    score = SpanF1()
    score.update(["B-X", "I-X", "O", "B-Y"], ["B-X", "O", "O", "B-Z"])
    assert score.result() == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    score.update(["B-X", "I-X"], ["B-X", "I-X"])
    assert score.result() == pytest.approx({"precision": 100 / 3, "recall": 100 / 3, "f1": 100 / 3})
    assert score.details()["label"]["X"]["recall"] == 50


def test_spans_do_not_run_over_sentences():
    score = SpanF1()
    score.update(["B-X"], ["B-X"])
    score.update(["I-X"], ["I-X"])
    assert score.gold.total() == 2


def test_nothing_yet_and_different_lengths():
    assert SpanF1().result() == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    with pytest.raises(ValueError, match="gold has 1 tags, predicted 2"):
        SpanF1().update(["O"], ["O", "O"])


@settings(max_examples=50)
@given(tags)
def test_bilou_and_bmes_are_bioes_by_other_names(sequence):
    for names in ({"E": "L", "S": "U"}, {"I": "M"}):
        renamed = [names.get(tag[0], tag[0]) + tag[1:] for tag in sequence]
        assert spans(renamed) == spans(sequence)


def test_spans_of_bilou():
    assert spans(["U-X", "B-X", "I-X", "L-X", "U-X", "O"]) == [("X", 0, 0), ("X", 1, 3), ("X", 4, 4)]
    assert spans(["B", "M", "E", "S", "B", "E"]) == [("_", 0, 2), ("_", 3, 3), ("_", 4, 5)]
