"""Sentences with all tags right, exact logical forms, and both by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.logical_forms import random_logical_forms
from tests.data.logical_forms.random_logical_forms import read

from strukt.data.logical_forms import Tags
from strukt.metrics.logical_forms import LogicalForms

GOLD = [sentence for sentence in read(random_logical_forms.lines(6)) if len(sentence) > 1]


def changed(sentence, name, place):
    """A copy with another tag at a place."""
    column = sentence.column(name)
    column[place] = "1" if name == "parent" and column[place] != "1" else "_" if column[place] != "_" else "9"
    return sentence.annotated(**{name: column})


@given(st.lists(st.tuples(st.sampled_from(GOLD), st.sampled_from(["", *Tags._fields]), st.integers(0, 99))))
def test_equals_counting_by_hand(pairs):
    score = LogicalForms()
    sentences = []
    for gold, name, place in pairs:
        predicted = changed(gold, name, place % len(gold)) if name else gold
        score.update(gold, predicted)
        sentences.append((gold, predicted))
    whole = max(len(sentences), 1)
    result = score.result()
    assert result.pop("sentences") == pytest.approx(100 * sum(not name for _, name, _ in pairs) / whole)
    same = sum(gold.logical_form == predicted.logical_form for gold, predicted in sentences)
    assert result.pop("forms") == pytest.approx(100 * same / whole)
    words = sum(len(gold) for gold, _ in sentences)
    wrong = [name for _, name, _ in pairs]
    assert result == {
        name: pytest.approx(100 * (words - wrong.count(name)) / words if words else 0.0)
        for name in Tags._fields
    }


def test_tags_that_the_form_does_not_need_count_for_sentences_only():
    [gold] = read("Ava fell\tfall . theme ( x _ 1 , Ava )")
    score = LogicalForms()
    score.update(gold, gold.annotated(determiner=["definite", "_"]))
    assert (score.result()["sentences"], score.result()["forms"]) == (0.0, 100.0)


def test_cases_have_rows_of_their_own():
    first, second, third = read(
        "Ava fell\tfall . theme ( x _ 1 , Ava )\tb\nAva fell\tfall . theme ( x _ 1 , Ava )\ta\n"
        "Ava fell\tfall . theme ( x _ 1 , Ava )\n"
    )
    score = LogicalForms()
    for gold in (first, first, second, third):
        score.update(gold, gold)
    score.update(second, second.annotated(role=["agent", "_"]))
    assert score.details() == {
        "case": {
            "a": {"sentences": 50.0, "forms": 50.0, "gold": 2},
            "b": {"sentences": 100.0, "forms": 100.0, "gold": 2},
        }
    }
    assert score.result()["sentences"] == 80.0


def test_what_tags_cannot_express_is_wrong():
    [gold, tagged] = read(
        "It fell\tit ( x _ 0 ) AND fall . theme ( x _ 1 , x _ 0 ) AND it ( x _ 0 )\n"
        "It fell\tit ( x _ 0 ) AND fall . theme ( x _ 1 , x _ 0 )\n"
    )
    score = LogicalForms()
    score.update(gold, tagged)
    assert score.result() == dict.fromkeys(("sentences", "forms", *Tags._fields), 0.0)
    assert score.tags["role"].words == 0
