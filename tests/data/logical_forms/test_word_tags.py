"""Logical forms become tags and come back: by hand, at random, in all of COGS, and for tags that err."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.logical_forms import random_logical_forms
from tests.data.logical_forms.random_logical_forms import read
from tests.data.sources import shared

from strukt.data.logical_forms import NONE, Tags, cogs, form_of, tags_of

# Of each word: parent, role, category, determiner, verb.
BY_HAND = {
    "The girl on a TV needed to cook .": (
        "* girl ( x _ 1 ) ; girl . nmod . on ( x _ 1 , x _ 4 ) AND tv ( x _ 4 ) AND "
        "need . agent ( x _ 5 , x _ 1 ) AND need . xcomp ( x _ 5 , x _ 7 ) AND cook . agent ( x _ 7 , x _ 1 )",
        {
            "girl": ("4", "agent", "noun", "definite", "_"),
            "TV": ("-3", "nmod.on", "noun", "indefinite", "_"),
            "needed": ("_", "_", "verb", "_", "need"),
            "cook": ("-2", "xcomp", "verb", "_", "cook"),
        },
    ),
    "Emma said that Liam was given a cake by Ava .": (
        "say . agent ( x _ 1 , Emma ) AND say . ccomp ( x _ 1 , x _ 5 ) AND give . recipient ( x _ 5 , Liam ) AND "
        "give . theme ( x _ 5 , x _ 7 ) AND give . agent ( x _ 5 , Ava ) AND cake ( x _ 7 )",
        {
            "Emma": ("1", "agent", "name", "_", "_"),
            "said": ("_", "_", "verb", "_", "say"),
            "Liam": ("2", "recipient", "name", "_", "_"),
            "given": ("-4", "ccomp", "verb", "_", "give"),
            "cake": ("-2", "theme", "noun", "indefinite", "_"),
            "Ava": ("-4", "agent", "name", "_", "_"),
        },
    ),
    "Emma": ("Emma", {"Emma": ("_", "_", "name", "_", "_")}),
    "cake": ("LAMBDA a . cake ( a )", {"cake": ("_", "_", "noun", "indefinite", "_")}),
    "grow": ("LAMBDA a . LAMBDA e . grow . theme ( e , a )", {"grow": ("_", "theme", "verb", "_", "grow")}),
    "draw": (
        "LAMBDA a . LAMBDA b . LAMBDA e . draw . agent ( e , b ) AND draw . theme ( e , a )",
        {"draw": ("_", "agent+theme", "verb", "_", "draw")},
    ),
}


@pytest.mark.parametrize("sentence", BY_HAND)
def test_by_hand(sentence):
    form, meaningful = BY_HAND[sentence]
    words = sentence.split()
    tags = tags_of(words, form)
    nothing = (NONE,) * len(Tags._fields)
    assert list(zip(*tags, strict=True)) == [meaningful.get(word, nothing) for word in words]
    assert form_of(words, tags) == form


@given(st.integers(0, 10**9), st.integers(0, 5))
def test_random_sentences_come_back(seed, depth):
    words, form, _ = random_logical_forms.line(random.Random(seed), depth).split("\t")
    tags = tags_of(words.split(), form)
    assert form_of(words.split(), tags) == form
    said = {place for place, category in enumerate(tags.category) if category != NONE}
    assert {place for place, role in enumerate(tags.role) if role != NONE} <= said
    assert [head for head in tags.heads if head is not None and head not in said] == []


def test_names_that_stand_twice_are_taken_from_left_to_right():
    form = "say . agent ( x _ 1 , Ava ) AND say . ccomp ( x _ 1 , x _ 4 ) AND see . agent ( x _ 4 , Ava )"
    tags = tags_of("Ava said that Ava saw".split(), form)
    assert tags.parent == ["1", "_", "_", "1", "-3"]


def test_all_verbs_of_a_chain_share_the_agent_above_them():
    words = "Ava wanted to try to sleep".split()
    tags = Tags(
        ["1", "_", "_", "-2", "_", "-2"],
        ["agent", "_", "_", "xcomp", "_", "xcomp"],
        ["name", "verb", "_", "verb", "_", "verb"],
        ["_"] * 6,
        ["_", "want", "_", "try", "_", "sleep"],
    )
    form = form_of(words, tags)
    assert [part for part in form.split(" AND ") if "agent" in part] == [
        f"{verb} . agent ( x _ {place} , Ava )" for verb, place in [("want", 1), ("try", 3), ("sleep", 5)]
    ]
    passive = form_of(words, tags._replace(role=["theme", *tags.role[1:]]))
    assert "agent" not in passive


def test_a_verb_keeps_an_agent_of_its_own():
    words = "Ava wanted Liam to sleep".split()
    tags = Tags(
        ["1", "_", "2", "_", "-3"],
        ["agent", "_", "agent", "_", "xcomp"],
        ["name", "verb", "name", "_", "verb"],
        ["_"] * 5,
        ["_", "want", "_", "_", "sleep"],
    )
    assert [part for part in form_of(words, tags).split(" AND ") if part.startswith("sleep")] == [
        "sleep . agent ( x _ 4 , Liam )"
    ]


def test_parents_outside_the_sentence_are_none():
    tags = Tags(["-3", "7", "0", "_", "-1"], *(["_"] * 5 for _ in range(4)))
    assert tags.heads == [None, None, None, None, 3]


def test_a_parent_that_is_no_number():
    with pytest.raises(ValueError, match="parent: 'up' is invalid; give _ or a whole number such as -1"):
        _ = Tags(["up"], ["agent"], ["noun"], ["_"], ["_"]).heads


@pytest.mark.parametrize("words", [["cake"], ["a", "cake", "fell"], []])
def test_one_tag_for_each_word(words):
    tags = Tags(*(["_", "_"] for _ in Tags._fields))
    with pytest.raises(ValueError, match=f"tags has columns of 2, 2, 2, 2, 2 tags for {len(words)} words"):
        form_of(words, tags)


VALUES = {
    "parent": ["_", "0", "1", "-1", "2", "-2", "-7", "9"],
    "role": ["_", "agent", "theme", "xcomp", "nmod.on", "agent+theme"],
    "category": ["_", "noun", "verb", "name"],
    "determiner": ["_", "definite", "indefinite"],
    "verb": ["_", "eat", "see"],
}


@st.composite
def tagged(draw):
    words = draw(st.lists(st.sampled_from(["Emma", "cake", "ate", "TV", "."]), min_size=1, max_size=6))
    columns = [
        st.lists(st.sampled_from(values), min_size=len(words), max_size=len(words))
        for values in VALUES.values()
    ]
    return words, Tags(*map(draw, columns))


@given(tagged())
def test_any_tags_give_a_form_that_can_be_read(given_tags):
    words, tags = given_tags
    form = form_of(words, tags)
    [sentence] = read(f"{' '.join(words)}\t{form}\n")
    assert sentence.logical_form == form


@given(tagged())
def test_every_part_of_a_form_has_its_tags(given_tags):
    words, tags = given_tags
    if len(words) == 1:
        return
    form = form_of(words, tags)
    parts = [part for group in form.split(" ; ") for part in group.split(" AND ")] if form else []
    arcs = [
        (head, role, word)
        for word, (head, role) in enumerate(zip(tags.heads, tags.role, strict=True))
        if head is not None and role != "_"
    ]
    nouns = tags.category.count("noun")
    assert sum("," not in part for part in parts) == nouns
    shared = len(parts) - nouns - len(arcs)
    assert 0 <= shared <= sum(role == "xcomp" for _, role, _ in arcs)
    assert sum(" . agent (" in part for part in parts) - shared == sum(role == "agent" for _, role, _ in arcs)
    assert sum(part.startswith("* ") for part in parts) == sum(
        category == "noun" and determiner == "definite"
        for category, determiner in zip(tags.category, tags.determiner, strict=True)
    )


@pytest.mark.parametrize(
    ("sentence", "form"),
    [
        ("Ava saw her", "see . agent ( x _ 1 , Ava ) AND see . theme ( x _ 1 , Ava )"),  # her is no such name
        ("A cake fell", "fall . theme ( x _ 2 , x _ 1 ) AND cake ( x _ 1 )"),  # another order
        ("A cake fell", "cookie ( x _ 1 ) AND fall . theme ( x _ 2 , x _ 1 )"),  # another noun
        ("It fell here", "fall . theme ( x _ 1 , x _ 0 ) AND fall . agent ( x _ 1 , x _ 0 )"),  # two roles
        ("see", "LAMBDA b . LAMBDA e . see . agent ( e , b )"),
    ],
)
def test_what_tags_cannot_express_does_not_come_back(sentence, form):
    words = sentence.split()
    assert form_of(words, tags_of(words, form)) != form


@pytest.mark.parametrize(
    ("sentence", "form", "message"),
    [
        ("A cake fell", "cake ( x _ 1", "'cake ( x _ 1' is neither like 'cake ( x _ 4 )' nor like 'eat . agent"),
        ("A cake fell", "cake ( x _ 1 , x _ 2 )", "is neither like"),
        ("A cake fell", "fall . theme ( x _ 2 )", "is neither like"),
        ("A cake fell", "cake ( x _ 3 )", "x _ 3 is beyond the last word of the sentence, which is x _ 2"),
        ("A cake fell", "fall . theme ( x _ 2 , Ava )", "the name 'Ava' is not a word of the sentence"),
        ("cake", "cake ( x _ 0 )", "is neither the name 'cake' nor like 'LAMBDA a . cake ( a )'"),
        ("Ava", "Liam", "'Liam' is neither the name 'Ava'"),
    ],
)
def test_malformed(sentence, form, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        tags_of(sentence.split(), form)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["dev", "gen"])
def test_all_of_cogs_comes_back(name):
    sentences = cogs.read(shared(f"cogs/{name}.tsv.gz"))
    assert [str(sentence) for sentence in sentences if sentence.tags is None] == []
