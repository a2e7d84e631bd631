"""Automata accept what Python's own strings and regular expressions accept, and the smallest ones do."""

import itertools
import operator
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strukt.automata import Automaton, any_of, anything, avoiding, containing, matching, phrase

LETTERS = "abc"
SHORT = ["".join(letters) for n in range(6) for letters in itertools.product(LETTERS, repeat=n)]
tokens = st.lists(st.integers(0, 2), max_size=3)


def numbers(text: str) -> list[int]:
    return [LETTERS.index(letter) for letter in text]


def language(automaton: Automaton) -> set[str]:
    """The short texts of an automaton over the letters."""
    states = torch.zeros(len(SHORT), dtype=torch.long)
    for place in range(max(map(len, SHORT))):
        longer = torch.tensor([len(text) > place for text in SHORT])
        letters = torch.tensor(numbers("".join(text[place] for text in SHORT if len(text) > place)))
        states[longer] = automaton.after(states[longer], letters)
    return {text for text, state in zip(SHORT, states.tolist(), strict=True) if automaton.accepting[state]}


def text(given: list[int]) -> str:
    return "".join(LETTERS[token] for token in given)


def expressions():
    """Patterns of Python's `re`, with all that is regular."""
    atoms = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "[]c]", r"\w", r"\d", r"\.", "()", "é"])
    repeats = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{,1}", "{1,}", "*?", "??"])
    return st.recursive(
        atoms,
        lambda inner: (
            st.tuples(inner, inner).map("".join)
            | st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})")
            | st.tuples(inner, repeats).map(lambda pair: f"(?:{pair[0]}){pair[1]}")
        ),
        max_leaves=6,
    )


@given(pattern=expressions())
def test_patterns_match_as_in_python(pattern):
    expected = {text for text in SHORT if re.fullmatch(pattern, text)}
    assert language(matching(pattern, list(LETTERS))) == expected


@given(one=expressions(), another=expressions())
def test_sets_are_combined_as_sets(one, another):
    a, b = matching(one, list(LETTERS)), matching(another, list(LETTERS))
    mine, theirs = language(a), language(b)
    assert language(a & b) == mine & theirs
    assert language(a | b) == mine | theirs
    assert language(~a) == set(SHORT) - mine
    assert language(a + b) == {x + y for x in mine for y in theirs} & set(SHORT)
    assert a + b == matching(f"(?:{one})(?:{another})", list(LETTERS))
    assert ~(~a & ~b) == a | b
    assert a.repeat(1) == a + a.repeat()
    assert a.repeat(1, 2) == a | (a + a)


@given(phrases=st.lists(tokens, max_size=3))
def test_phrases_are_found_as_in_strings(phrases):
    wanted = [text(each) for each in phrases]
    assert language(containing(phrases, 3)) == {x for x in SHORT if all(each in x for each in wanted)}
    assert language(avoiding(phrases, 3)) == {x for x in SHORT if not any(each in x for each in wanted)}
    for each in wanted:
        assert containing([numbers(each)], 3).states == len(each) + 1  # as Knuth, Morris and Pratt have it


def spelled(pieces: list[str], count: int):
    for n in range(count):
        for row in itertools.product(range(len(pieces)), repeat=n):
            yield list(row), "".join(pieces[piece] for piece in row)


@pytest.mark.parametrize("pattern", ["(ab|c)*", "a.c", "(b|abc)+ c?", ".*ca.*", r"[^\s]{3}"])
def test_tokens_spell_texts_however_they_cut_them(pattern):
    pieces = ["a", "b", "c", "ab", "bc", "ca", " c", ""]
    automaton = matching(pattern, pieces)
    for row, whole in spelled(pieces, 4):
        assert automaton.accepts(row) == (re.fullmatch(pattern, whole) is not None), (row, whole)


@pytest.mark.parametrize("pattern", ["a( b)*", "(a |ab )*a", "|c", ".* b.*", "  a?"])
def test_separators_stand_between_tokens(pattern):
    pieces = ["a", "b", "ab", "c", ""]
    automaton = matching(pattern, pieces, separator=" ")
    for row, _ in spelled(pieces, 4):
        whole = " ".join(pieces[piece] for piece in row)
        assert automaton.accepts(row) == (re.fullmatch(pattern, whole) is not None), (row, whole)


def test_tokens_without_spelling_are_forbidden():
    automaton = matching(".*", ["a", None, "b"])
    assert automaton.accepts([0, 2])
    assert not automaton.accepts([0, 1])


def test_large_vocabularies_have_small_tables():
    automaton = containing([[7, 9], [40_000]], words=50_000)
    assert automaton.transitions.shape == (6, 4)
    pieces = [f"{number} " for number in range(2_000)]
    assert matching("(.* )?12 (.*)", pieces).transitions.shape == (2, 2)


def test_equal_sets_have_equal_automata():
    one = matching("(a|b)*abb", list(LETTERS))
    other = matching("(b*a)*b*", list(LETTERS)) & matching("[ab]*abb", list(LETTERS))
    assert one == other
    assert one != ~one
    assert one != "abb"
    assert one.states == 5  # four of the textbook's, and one that nothing leaves
    for name in ("transitions", "accepting", "classes"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    unreachable = torch.tensor([[0, 0], [0, 1]])
    assert Automaton(unreachable, torch.tensor([True, False]), torch.tensor([0, 1])) == anything(2)


def test_states_after_tokens():
    automaton = containing([[1, 2]], words=4)
    after = automaton.after(torch.zeros(4, dtype=torch.long), torch.arange(4))
    assert after.tolist() == [0, int(after[1]), 0, 0]
    assert automaton.accepting[automaton.after(after[1], torch.tensor(2))]
    assert not containing([[1, 2]], 4).empty
    assert (containing([[1]], 4) & avoiding([[1]], 4)).empty


def test_many_repetitions_take_few_concatenations():
    letter = any_of([0], 2)
    some = letter.repeat(300, 700)  # took minutes by one concatenation after the other
    assert some.states == 702
    counts = [0, 299, 300, 501, 700, 701]
    assert [some.accepts([0] * count) for count in counts] == [False, False, True, True, True, False]
    assert letter.repeat(3, 5) == letter + letter + letter + (letter.repeat(0, 1) + letter.repeat(0, 1))


@pytest.mark.parametrize("pattern", ["^a", "a$", r"\ba", r"(a)\1", "(?=a)", "(?P<n>a)", r"\x41", "a{,}"])
def test_what_is_not_regular_is_refused(pattern):
    with pytest.raises(ValueError, match="expected only"):
        matching(pattern, ["a"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: matching("(a", ["a"]), "pattern is '\\(a', which is malformed: missing \\)"),
        (lambda: matching("(" * 5000 + "a" + ")" * 5000, ["a"]), "deeper than Python can recurse"),
        (lambda: matching(f"a{{{10**20}}}", ["a"]), "which is malformed: the repetition number is too large"),
        (lambda: matching("a", []), "spellings is empty; expected the text of each token"),
        (lambda: phrase([4], 4), "tokens holds 4; expected tokens from 0 to 3"),
        (lambda: matching(b"a", ["a"]), "pattern is a bytes; expected a str"),
        (lambda: containing([3, 2], 4), r"tokens is 3; expected a sequence of tokens, such as \[0, 3\]"),
        (lambda: phrase("ab", 4), "tokens is 'ab'; expected a sequence of tokens"),
        (lambda: phrase([1.5], 4), r"tokens is \[1.5\]; expected whole numbers"),
        (lambda: any_of([-1], 4), "tokens holds -1; expected tokens from 0 to 3"),
        (lambda: anything(0), "words is 0; expected a positive integer"),
        (lambda: phrase([0], 2.5), "words is 2.5; expected a positive integer"),
        (lambda: phrase([1], 4).accepts([7]), "tokens holds 7; expected tokens from 0 to 3"),
        (lambda: phrase([1], 4) & phrase([1], 5), "over 4 and 5 tokens; expected the same number"),
        (lambda: phrase([1], 4).repeat(2, 1), "least is 2 and most 1; expected integers, 0 <= least <= most"),
        (lambda: phrase([1], 4).repeat(-1), "least is -1 and most None; expected integers, 0 <= least"),
        (lambda: phrase([1], 4).repeat(0, 2.5), "least is 0 and most 2.5; expected integers, 0 <= least"),
        (lambda: matching("a", [1, 2]), r"spellings\[0\] is 1; expected a str, or None"),
        (lambda: matching("a", ["a"], 1), "separator is 1; expected a str"),
        (
            lambda: Automaton(torch.tensor([[1]]), torch.tensor([True]), torch.tensor([0])),
            "transitions holds 1 to 1; expected 0 to 0",
        ),
        (
            lambda: Automaton(torch.tensor([0]), torch.tensor([True]), torch.tensor([0])),
            r"transitions \(1,\), classes \(1,\); expected \(q, c\) and \(v,\)",
        ),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("join", [operator.and_, operator.or_, operator.add])
def test_a_token_is_no_operand(join):
    with pytest.raises(TypeError, match="the operand is a int; expected an Automaton"):
        join(phrase([1], 4), 1)
