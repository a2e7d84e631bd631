"""The report equals seqeval's, in per cent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.metrics import report

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-时间"]
PAIRS = st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS))
SENTENCES = st.lists(st.lists(PAIRS, min_size=1, max_size=6), min_size=1, max_size=4)


def rows(text):
    head, *lines = text.splitlines()
    assert head.split()[:3] == ["in", "per", "cent"]
    return {line.split()[0]: [float(cell) for cell in line.split()[1:]] for line in lines}


@given(SENTENCES)
def test_it_equals_that_of_seqeval(pairs):
    metrics = pytest.importorskip("seqeval.metrics")
    gold, predicted = ([[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1))
    found = report(gold, predicted)
    if found == "no spans":
        assert all(tag == "O" for sentence in gold + predicted for tag in sentence)
        return
    expected = metrics.classification_report(gold, predicted, output_dict=True, zero_division=0)
    for name, values in rows(found).items():
        theirs = expected[f"{name} avg" if name in ("micro", "macro", "weighted") else name]
        wanted = [100 * theirs["precision"], 100 * theirs["recall"], 100 * theirs["f1-score"], theirs["support"]]
        assert values == pytest.approx(wanted, abs=0.00501)


def test_sizes_that_differ_are_named():
    with pytest.raises(ValueError, match="gold has 1 sentences, predicted 2; expected the same sentences"):
        report([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match=r"gold\[1\] has 2 tags, predicted\[1\] 1; expected one for each word"):
        report([["O"], ["O", "O"]], [["O"], ["O"]])


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["B-PER", "O"], r"gold\[0\] is 'B-PER'; expected the tags of one sentence"),
        ([["O", 1]], r"gold\[0\] has the tag 1; expected tags such as 'B-PER' and 'O'"),
        ([["O", ""]], r"gold\[0\] has the tag ''; expected tags"),
        ([None], r"gold\[0\] is None; expected the tags of one sentence"),
    ],
)
def test_what_is_no_sentence_of_tags_is_named(sentences, message):
    with pytest.raises(ValueError, match=message):
        report(sentences, sentences)
