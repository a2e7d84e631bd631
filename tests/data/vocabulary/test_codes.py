"""What codes mean."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.vocabulary.codes import CodeVocabulary

spans = st.lists(st.tuples(st.integers(0, 15), st.sampled_from(["NP", "VP", "", "S VP"])), max_size=30)


@given(spans)
def test_a_code_means_its_most_frequent_label(pairs):
    vocabulary = CodeVocabulary.count(pairs)
    assert vocabulary.codes == tuple(sorted({code for code, _ in pairs}))
    assert len(vocabulary) == len(vocabulary.codes)
    for code in vocabulary.codes:
        counts = Counter(label for other, label in pairs if other == code)
        most = max(counts.values())
        assert vocabulary.counts[code] == counts
        assert vocabulary.label(code) == min(label for label, count in counts.items() if count == most)


@given(spans.filter(bool), st.integers(0, 63))
def test_another_code_means_what_the_nearest_one_means(pairs, code):
    vocabulary = CodeVocabulary.count(pairs)
    assert (code in vocabulary) == any(code == seen for seen, _ in pairs)
    frequency = Counter(seen for seen, _ in pairs)
    distance = {
        seen: sum(a != b for a, b in zip(f"{code:06b}", f"{seen:06b}", strict=True)) for seen in frequency
    }
    near = [seen for seen in frequency if distance[seen] == min(distance.values())]
    often = [seen for seen in near if frequency[seen] == max(frequency[other] for other in near)]
    assert vocabulary.label(code) == vocabulary.label(min(often))


@given(spans, st.randoms())
def test_the_order_of_spans_does_not_matter(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert CodeVocabulary.count(shuffled) == CodeVocabulary.count(pairs)
    assert hash(CodeVocabulary.count(shuffled)) == hash(CodeVocabulary.count(pairs))


@given(spans.filter(bool))
def test_labels_come_by_frequency(pairs):
    frequency = Counter(label for _, label in pairs)
    assert CodeVocabulary.count(pairs).labels == sorted(frequency, key=lambda name: (-frequency[name], name))


@given(spans.filter(bool), st.data())
def test_distances_are_means_over_pairs_of_spans(pairs, data):
    labels = st.sampled_from(sorted({label for _, label in pairs}))
    first, second = data.draw(labels), data.draw(labels)
    both = [(a, b) for a, name in pairs if name == first for b, other in pairs if other == second]
    expected = sum((a ^ b).bit_count() for a, b in both) / len(both)
    assert CodeVocabulary.count(pairs).distance(first, second) == pytest.approx(expected)


def test_ties_by_hand():
    vocabulary = CodeVocabulary.count(
        [(0b0001, "A"), (0b0010, "B"), (0b0100, "C"), (0b0100, "D"), (0b0100, "D")]
    )
    assert vocabulary.label(0b0000) == "D"  # three are near, and this one is the most frequent
    assert vocabulary.label(0b0011) == "A"  # two are equally frequent
    assert CodeVocabulary.count([(0, "B"), (0, "A")]).label(0) == "A"


def test_an_empty_vocabulary_says_so():
    with pytest.raises(KeyError, match="code 3 means nothing: the vocabulary is empty"):
        CodeVocabulary({}).label(3)


@pytest.mark.parametrize("pair", [("NP", "XX"), ("XX", "NP"), ("XX", "XX")])
def test_no_distance_to_a_label_that_was_never_counted(pair):
    with pytest.raises(KeyError, match="'XX' is not one of the 2 labels: NP, VP"):
        CodeVocabulary.count([(0, "NP"), (3, "VP")]).distance(*pair)


def test_codes_are_not_negative():
    with pytest.raises(ValueError, match=r"-1 is not a code; expected 0 or more"):
        CodeVocabulary.count([(-1, "NP")])
