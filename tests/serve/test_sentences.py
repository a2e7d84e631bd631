"""Texts of requests as each kind of model reads them."""

import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data import brackets, conllu, corpus
from strukt.serve.sentences import TextError, sentence_of


def reading(readers):
    return SimpleNamespace(readers=lambda: readers)


def test_running_text_is_cut_into_words():
    sentence = sentence_of(reading(corpus.WORDS), " It isn't over,\nshe said. ", 20)
    assert isinstance(sentence, conllu.Sentence)
    assert sentence.forms == ["It", "isn't", "over", ",", "she", "said", "."]


def test_two_sentences_stand_on_two_lines():
    sentence = sentence_of(reading(corpus.PAIRS), "Dogs bark.\nAnimals make noise.\n", 20)
    assert str(sentence).rstrip("\n").endswith("Dogs bark .\tAnimals make noise .")
    sentence = sentence_of(reading(corpus.PAIRS), "Dogs\u2028bark.\r\nAnimals make\x0cnoise.", 20)
    assert str(sentence).rstrip("\n").endswith("Dogs bark .\tAnimals make noise .")
    for text, count in (("\n", "0 lines"), ("Dogs bark.", "1 line"), ("a\n \nb", "3 lines")):
        with pytest.raises(TextError, match=f"the text has {count}; expected 2 lines, one for each sentence"):
            sentence_of(reading(corpus.PAIRS), text, 20)


def test_words_of_a_tree_and_not_the_tree():
    assert isinstance(sentence_of(reading(corpus.TREES), "Dogs bark", 20), brackets.Sentence)
    with pytest.raises(TextError, match="the text is a tree"):
        sentence_of(reading(corpus.TREES), "(S (NP Dogs) (VP bark))", 20)


def test_the_number_of_words_is_limited():
    assert len(sentence_of(reading(corpus.WORDS), "a b c", 3)) == 3
    with pytest.raises(TextError, match="the text has 4 words; this service reads up to 3"):
        sentence_of(reading(corpus.WORDS), "a b c d", 3)


@pytest.mark.parametrize("text", ["\ufeffDogs bark", " \ufeff\u3000\ufeff Dogs bark"])
def test_a_byte_order_mark_is_dropped_without_a_warning_that_would_show_the_text(text):
    for readers in (corpus.WORDS, corpus.TREES):
        assert sentence_of(reading(readers), text, 20).forms == ["Dogs", "bark"]
    with pytest.raises(TextError, match="the text has no words"):
        sentence_of(reading(corpus.WORDS), "\ufeff", 20)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30))
def test_any_text_without_control_characters_is_read_or_has_no_words(text):
    words = re.sub(r"^[\s\ufeff]+", "", text).split()
    try:
        sentence = sentence_of(reading(corpus.WORDS), text, 30)
    except TextError as error:
        assert "no words" in str(error)  # noqa: PT017
        assert not words
    else:
        assert "".join(sentence.forms) == "".join(words)
