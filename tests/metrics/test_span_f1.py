"""Span scores equal those of seqeval in its default mode."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from tests.fuzz.grammars import tags

from strukt.data.tag_schemes.spans import spans
from strukt.metrics.span_f1 import SpanF1


@st.composite
def tag_pairs(draw):
    gold = draw(tags)
    mixed = [tag if draw(st.booleans()) else draw(tags)[0] for tag in gold]
    return gold, mixed


@pytest.mark.filterwarnings("ignore:.*ill-defined")
@settings(max_examples=2 * settings().max_examples)
@given(st.lists(tag_pairs(), min_size=1, max_size=4))
def test_scores_equal_seqeval(pairs):
    score = SpanF1()
    for gold, predicted in pairs:
        score.update(gold, predicted)
    all_gold, all_predicted = [gold for gold, _ in pairs], [predicted for _, predicted in pairs]
    assert score.result() == pytest.approx(
        {
            "precision": 100 * precision_score(all_gold, all_predicted),
            "recall": 100 * recall_score(all_gold, all_predicted),
            "f1": 100 * f1_score(all_gold, all_predicted),
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
        assert only == score.result() | {"gold": score.gold.total()}


def test_nothing_yet_and_different_lengths():
    assert SpanF1().result() == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    with pytest.raises(ValueError, match="gold has 1 tags, predicted 2"):
        SpanF1().update(["O"], ["O", "O"])


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([1, 2], "gold has the tag 1; expected tags such as 'B-PER' and 'O'"),
        ([["B-PER", "O"]], r"gold has the tag \['B-PER', 'O'\]; expected tags"),
        ("O", "gold is 'O'; expected the tags of one sentence"),
    ],
)
def test_what_is_not_a_sentence_of_tags_is_refused(tags, message):
    with pytest.raises(ValueError, match=message):
        SpanF1().update(tags, tags)
