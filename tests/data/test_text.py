"""Plain text as sentences of CoNLL-U."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data import text


def read(content):
    return list(text.read(io.BytesIO(content.encode())))


def test_one_sentence_a_line():
    first, second = read("It works .\n\n  And  well !\t\n")
    assert first.forms == ["It", "works", "."]
    assert second.forms == ["And", "well", "!"]
    assert (first.line, second.line) == (1, 3)
    assert second.comments == ["# text = And  well !"]


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("It works.", ["It", "works", "."]),
        ("a well-known (old) rule", ["a", "well-known", "(", "old", ")", "rule"]),
        ("3.14, or 1,000?", ["3.14", ",", "or", "1", ",", "000", "?"]),
        ("nai\u0308ve cafe\u0301-bar…", ["nai\u0308ve", "cafe\u0301-bar", "…"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा", "।"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("\u200fשָׁלוֹם, مَرْحَبًا", ["\u200fשָׁלוֹם", ",", "مَرْحَبًا"]),
        ("می\u200cروم.", ["می\u200cروم", "."]),
        ("a\u200bb", ["a", "\u200b", "b"]),
        ("👩\u200d👧 👍🏽! 😀😀", ["👩\u200d👧", "👍🏽", "!", "😀", "😀"]),
        ("", []),
    ],
)
def test_tokenize(given_text, expected):
    assert text.tokenize(given_text) == expected


@given(st.text())
def test_tokens_are_the_text_without_white_space(given_text):
    tokens = text.tokenize(given_text)
    assert "".join(tokens) == "".join(given_text.split())
    assert all(tokens)
