"""Tagging accuracy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.metrics.accuracy import Accuracy
from strukt.metrics.classes import ClassAccuracy
from strukt.metrics.span_f1 import SpanF1


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))), max_size=4))
def test_equals_the_share_over_all_sentences(sentences):
    accuracy = Accuracy()
    for sentence in sentences:
        accuracy.update([gold for gold, _ in sentence], [predicted for _, predicted in sentence])
    pairs = [pair for sentence in sentences for pair in sentence]
    expected = 100 * sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0
    assert accuracy.result() == {"accuracy": pytest.approx(expected)}


def test_sentences_that_differ_in_length_change_nothing():
    accuracy = Accuracy()
    with pytest.raises(ValueError, match="gold has 2 tags, predicted 1; expected one for each word"):
        accuracy.update(["DET", "NOUN"], ["DET"])
    assert (accuracy.words, accuracy.right) == (0, 0)


@pytest.mark.parametrize("metric", [Accuracy, ClassAccuracy, SpanF1])
@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["O", "B-X"], ["O"]], [["O", "O"], ["O"]], r"gold\[0\] is a list; expected .* once for each sentence"),
        (["O", "O"], ["O", ("O",)], r"predicted\[1\] is a tuple"),
        ("OO", ["O", "O"], "gold is the str 'OO'; expected a list"),
    ],
)
def test_lists_of_sentences_are_refused(metric, gold, predicted, message):
    score = metric()
    with pytest.raises(ValueError, match=message):
        score.update(gold, predicted)
    assert vars(score) == vars(metric())
