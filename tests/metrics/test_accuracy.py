"""Tagging accuracy."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strukt.metrics.accuracy import Accuracy


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))), max_size=4))
def test_equals_the_share_over_all_sentences(sentences):
    accuracy = Accuracy()
    for sentence in sentences:
        accuracy.update((gold for gold, _ in sentence), [predicted for _, predicted in sentence])
    pairs = [pair for sentence in sentences for pair in sentence]
    expected = 100 * sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0
    assert accuracy.result() == {"accuracy": pytest.approx(expected)}


def test_sentences_that_differ_in_length_change_nothing():
    accuracy = Accuracy()
    with pytest.raises(ValueError, match="gold has 2 tags, predicted 1; expected one for each word"):
        accuracy.update(["DET", "NOUN"], ["DET"])
    assert (accuracy.words, accuracy.right) == (0, 0)


def test_tags_may_be_numbers_in_a_tensor_but_not_a_batch():
    accuracy = Accuracy()
    accuracy.update(torch.tensor([1, 2, 3, 3]), torch.tensor([1, 2, 2, 3]))
    assert accuracy.result() == {"accuracy": 75.0}
    assert isinstance(accuracy.result()["accuracy"], float)
    for batch in (torch.tensor([[1, 2], [3, 4]]), [["DET", "NOUN"], ["DET", "VERB"]], list(torch.zeros(2, 3))):
        with pytest.raises(ValueError, match=r"gold holds .*; expected tags, not sequences of them"):
            accuracy.update(batch, batch)
    assert accuracy.words == 4


@pytest.mark.parametrize(("gold", "said"), [(torch.tensor(1), r"tensor\(1\)"), ("DET", "the string 'DET'")])
def test_a_single_number_or_string_is_no_list_of_tags(gold, said):
    with pytest.raises(ValueError, match=f"gold is {said}; expected a list of tags"):
        Accuracy().update(gold, ["DET"])
