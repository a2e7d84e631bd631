"""Tags of the published scheme: by hand, at random, and for tags that err."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.logical_forms import random_logical_forms
from tests.data.logical_forms.random_logical_forms import read

from strukt.data.logical_forms import Tags, form_of, tags_of
from strukt.data.logical_forms.tagging_schemes import direct, published

# Of each word that means something: parent, role, category, determiner, verb.
BY_HAND = {
    "The girl on a TV in the house needed to cook .": (
        "* girl ( x _ 1 ) ; * house ( x _ 7 ) ; girl . nmod . on ( x _ 1 , x _ 4 ) AND tv ( x _ 4 ) AND "
        "tv . nmod . in ( x _ 4 , x _ 7 ) AND need . agent ( x _ 8 , x _ 1 ) AND "
        "need . xcomp ( x _ 8 , x _ 10 ) AND cook . agent ( x _ 10 , x _ 1 )",
        {
            "girl": ("7", "agent", "noun", "definite", "_"),
            "on": ("-1", "PREP", "_", "_", "_"),
            "TV": ("-2", "PP_NOUN", "noun", "indefinite", "_"),
            "in": ("-1", "PREP", "_", "_", "_"),
            "house": ("-2", "PP_NOUN", "noun", "definite", "_"),
            "needed": ("self", "_", "verb", "_", "need"),
            "cook": ("-2", "xcomp", "_", "_", "cook"),
        },
    ),
    "cake": ("LAMBDA a . cake ( a )", {"cake": ("self", "_", "noun", "_", "_")}),
    "Emma": ("Emma", {"Emma": ("self", "_", "name", "_", "_")}),
    "draw": (
        "LAMBDA a . LAMBDA b . LAMBDA e . draw . agent ( e , b ) AND draw . theme ( e , a )",
        {"draw": ("self", "_", "verb", "_", "draw")},
    ),
    "grow": ("LAMBDA a . LAMBDA e . grow . theme ( e , a )", {"grow": ("self", "_", "verb", "_", "grow")}),
    "nap": ("LAMBDA a . LAMBDA e . nap . agent ( e , a )", {"nap": ("self", "_", "verb", "_", "nap")}),
}


@pytest.mark.parametrize("sentence", BY_HAND)
def test_by_hand(sentence):
    form, meaningful = BY_HAND[sentence]
    words = sentence.split()
    tags = published(words, tags_of(words, form))
    nothing = ("self", "_", "_", "_", "_")
    assert list(zip(*tags, strict=True)) == [meaningful.get(word, nothing) for word in words]
    assert form_of(words, direct(words, tags)) == form


@given(st.integers(0, 10**9), st.integers(0, 5))
def test_random_sentences_come_back(seed, depth):
    [sentence] = read(random_logical_forms.line(random.Random(seed), depth) + "\n")
    in_scheme = sentence.in_scheme("published")
    assert sentence.in_scheme("direct") == sentence
    assert in_scheme.annotated(**in_scheme.tags._asdict()).logical_form == sentence.logical_form
    assert direct(sentence.forms, in_scheme.tags) == sentence.tags
    assert direct(sentence.forms, sentence.tags) == sentence.tags
    assert in_scheme.in_scheme("published").tags == in_scheme.tags


def test_without_a_preposition_a_noun_cannot_hang_from_another():
    [sentence] = read("A cake here fell\tcake ( x _ 1 ) AND cake . nmod . on ( x _ 1 , x _ 2 )\n")
    assert sentence.tags is not None
    assert sentence.in_scheme("published").tags is None
    with pytest.raises(ValueError, match="there is no 'on' between 'cake' and 'here', its modifier"):
        published(sentence.forms, sentence.tags)


VALUES = {
    "parent": ["self", "_", "0", "1", "-1", "-2", "9"],
    "role": ["_", "agent", "xcomp", "PREP", "PP_NOUN"],
    "category": ["_", "noun", "verb", "name"],
    "determiner": ["_", "definite"],
    "verb": ["_", "eat", "grow"],
}


@given(st.data())
def test_any_tags_give_a_form_that_can_be_read(data):
    words = data.draw(st.lists(st.sampled_from(["Emma", "cake", "on", "TV"]), min_size=1, max_size=6))
    tags = Tags(
        *(
            data.draw(st.lists(st.sampled_from(values), min_size=len(words), max_size=len(words)))
            for values in VALUES.values()
        )
    )
    [sentence] = read(" ".join(words) + "\n")
    written = sentence.annotated(**tags._asdict())
    assert written.tags == tags
    [again] = read(str(written))
    assert again.logical_form == written.logical_form
    assert "PREP" not in written.logical_form
    assert "PP_NOUN" not in written.logical_form
