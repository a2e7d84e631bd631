"""Scores of nested entities against arithmetic of sets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.entities.test_mentions import contains, entities

from strukt.metrics.entities import EntityF1

sentences = st.lists(
    st.tuples(entities, entities).map(lambda pair: (pair[0], pair[1] + pair[0][::2])), min_size=1, max_size=4
)


def scored(pairs):
    score = EntityF1()
    for gold, predicted in pairs:
        score.update(gold, predicted)
    return score


def placed(entities, sentence):
    """Entities with the number of their sentence and their depth, by definition."""
    distinct = set(entities)
    return {(sentence, entity): sum(contains(other, entity) for other in distinct) for entity in distinct}


def row(gold, predicted, keep_gold, keep_predicted):
    """Scores of the entities that are kept on each side, by arithmetic of sets."""
    wanted = {key for key in gold if keep_gold(key)}
    found = {key for key in predicted if keep_predicted(key)}
    precision = 100 * len(found & gold.keys()) / len(found) if found else 0
    recall = 100 * len(wanted & predicted.keys()) / len(wanted) if wanted else 0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
    return pytest.approx({"precision": precision, "recall": recall, "f1": f1, "gold": len(wanted)})


@settings(max_examples=2 * settings().max_examples)
@given(sentences)
def test_equals_arithmetic_of_sets(pairs):
    gold, predicted = {}, {}
    for number, (ours, theirs) in enumerate(pairs):
        gold |= placed(ours, number)
        predicted |= placed(theirs, number)
    score = scored(pairs)
    details = score.details()
    whole = row(gold, predicted, lambda key: True, lambda key: True)
    nested = row(gold, predicted, lambda key: gold[key] > 0, lambda key: predicted[key] > 0)
    assert score.result() | {"gold": len(gold)} == pytest.approx(
        whole.expected | {"nested_f1": nested.expected["f1"]}
    )
    assert list(details["type"]) == sorted({entity.label for _, entity in gold | predicted})
    for label, scores in details["type"].items():
        assert scores == row(gold, predicted, *[lambda key, label=label: key[1].label == label] * 2)
    assert list(details["depth"]) == [str(d) for d in sorted({*gold.values(), *predicted.values()})]
    for text, scores in details["depth"].items():
        depth = int(text)
        assert scores == row(
            gold,
            predicted,
            lambda key, depth=depth: gold[key] == depth,
            lambda key, depth=depth: predicted[key] == depth,
        )


@given(sentences)
def test_order_and_repetition_do_not_matter(pairs):
    once = scored(pairs)
    again = scored((gold[::-1] * 2, predicted[::-1] * 2) for gold, predicted in reversed(pairs))
    assert again.result() == once.result()
    assert again.details() == once.details()


def test_nothing_yet():
    assert EntityF1().result() == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "nested_f1": 0.0}
    assert EntityF1().details() == {"type": {}, "depth": {}}
