"""Symbols and their numbers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.vocabulary import PADDING, SPECIALS, UNKNOWN, Vocabulary

symbols = st.lists(st.text(max_size=4), max_size=20)


@given(symbols)
def test_every_symbol_has_its_number(given_symbols):
    vocabulary = Vocabulary(given_symbols)
    assert [vocabulary.symbols[vocabulary.index(symbol)] for symbol in given_symbols] == given_symbols
    assert len(vocabulary) == len(set(given_symbols))


@given(symbols, st.integers(1, 3))
def test_count_keeps_the_frequent_ones(given_symbols, minimum):
    vocabulary = Vocabulary.count(given_symbols, minimum)
    assert vocabulary.symbols[: len(SPECIALS)] == SPECIALS
    kept = set(vocabulary.symbols) - set(SPECIALS)
    assert kept == {symbol for symbol in given_symbols if given_symbols.count(symbol) >= minimum} - set(
        SPECIALS
    )
    counts = [given_symbols.count(symbol) for symbol in vocabulary.symbols[len(SPECIALS) :]]
    assert counts == sorted(counts, reverse=True)


@given(symbols, st.randoms())
def test_count_does_not_depend_on_the_order(given_symbols, random):
    shuffled = list(given_symbols)
    random.shuffle(shuffled)
    assert Vocabulary.count(shuffled) == Vocabulary.count(given_symbols)
    assert Vocabulary.labels(shuffled) == Vocabulary.labels(given_symbols)


@given(symbols)
def test_json_round_trip(given_symbols):
    vocabulary = Vocabulary.count(given_symbols)
    again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again == vocabulary
    assert hash(again) == hash(vocabulary)


def test_padding_is_0_and_unknown_symbols_are_1():
    vocabulary = Vocabulary.count(["a"])
    assert vocabulary.indices([PADDING, UNKNOWN, "a", "b"]) == [0, 1, 2, 1]
    assert "a" in vocabulary
    assert "b" not in vocabulary


def test_specials_in_the_text_keep_their_places():
    assert Vocabulary.count([UNKNOWN, "a", UNKNOWN]).symbols == (PADDING, UNKNOWN, "a")


def test_unknown_label_is_an_error_that_names_the_known_ones():
    vocabulary = Vocabulary.labels("fgabcdehij")
    with pytest.raises(KeyError, match=r"'z' is not one of the 10 labels: a, b, c, d, e, f, g, h, \.\.\."):
        vocabulary.index("z")


@pytest.mark.parametrize(
    ("value", "message"),
    [({"a": 1}, "list of strings, got dict"), ([1], "list of strings"), (["a", "a"], "occurs twice")],
)
def test_wrong_json(value, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary.from_json(value)
