"""What a diagram of brackets accepts, and what is inside what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.viz import Bracket, BracketDiagram

LABEL = st.just("X")


@st.composite
def diagrams(draw, labels=LABEL):
    """Sentences with brackets that nest, some over the same words, and words in none of them."""
    words = draw(st.integers(1, 9))
    spans = []
    for start, end in draw(
        st.lists(st.tuples(st.integers(0, words - 1), st.integers(1, words)), max_size=14)
    ):
        if start < end and not any(crossing((start, end), other) for other in spans):
            spans.append((start, end))
    spans.sort(key=lambda span: (span[0], -span[1]))
    brackets = [Bracket(draw(labels), start, end) for start, end in spans]
    return BracketDiagram([f"w{word}" for word in range(words)], brackets)


def crossing(first, second):
    (left, stop), (right, end) = sorted((first, second))
    return left < right < stop < end


def diagram(*spans, words=6):
    return BracketDiagram(["w"] * words, [Bracket(label, start, end) for label, start, end in spans])


OUTSIDE, ORDER = r"expected 0 <= start < end <= 6 words", r" after .*; expected an order from left to right"


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([("NP", -1, 2)], rf"^brackets has 'NP' from -1 to 2; {OUTSIDE}"),
        ([("NP", 0, 0)], OUTSIDE),
        ([("NP", 3, 2)], OUTSIDE),
        ([("NP", 5, 7)], OUTSIDE),
        ([("S", 0, 6), ("NP", 1, 4), ("VP", 2, 5)], r"has 'VP' from 2 to 5, which crosses 'NP' from 1 to 4"),
        ([("NP", 0, 4), ("DT", 0, 1), ("QP", 1, 3), ("VP", 3, 5)], r"'VP' from 3 to 5, which crosses 'NP' from 0"),
        ([("NP", 0, 2), ("S", 0, 6)], ORDER),
        ([("VP", 3, 6), ("NP", 0, 2)], ORDER),
    ],
)
def test_brackets_out_of_range_or_order_and_those_that_cross_are_refused(spans, message):
    with pytest.raises(ValueError, match=message):
        diagram(*spans)


@pytest.mark.parametrize("wrong", [1.5, float("nan")])
def test_what_is_no_probability_and_too_few_tags_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^the bracket 'NP' from 0 to 1 has {wrong}; expected probabilities"):
        BracketDiagram(["w"], [Bracket("NP", 0, 1, probability=wrong)])
    with pytest.raises(ValueError, match=r"^tags has 1 entries; expected 2"):
        BracketDiagram(["a", "b"], [], ["X"])


@pytest.mark.parametrize(("code", "bits"), [(16, 4), (-1, 4), (0, 0)])
def test_a_code_must_fit_into_the_bits(code, bits):
    with pytest.raises(ValueError, match=f"^codes has {code}, and bits is {bits}"):
        BracketDiagram(["a"], [Bracket("X", 0, 1, code)], bits=bits)
    with pytest.raises(ValueError, match=f"^codes has {code}, and bits is {bits}"):
        BracketDiagram(["a"], [], bits=bits, codes=[code])


@given(diagrams())
def test_a_parent_is_the_smallest_bracket_around(tree):
    for place, parent in enumerate(tree.parents()):
        inner = tree.brackets[place]
        around = [
            (bracket.end - bracket.start, -other)
            for other, bracket in enumerate(tree.brackets[:place])
            if bracket.start <= inner.start and inner.end <= bracket.end
        ]
        assert parent == (-min(around)[1] if around else None)


@given(diagrams())
def test_parts_cover_their_bracket_without_gaps(tree):
    for place, parts in tree.children().items():
        whole = Bracket("", 0, len(tree.forms)) if place is None else tree.brackets[place]
        assert [parts[0].start, *(part.end for part in parts)] == [
            *(part.start for part in parts),
            parts[-1].end,
        ]
        assert (parts[0].start, parts[-1].end) == (whole.start, whole.end)


@given(diagrams())
def test_a_bracket_stands_just_above_the_highest_inside_it(tree):
    levels = tree.levels()
    for place, parts in tree.children().items():
        if place is not None:
            assert levels[place] == 1 + max(0 if p.bracket is None else levels[p.bracket] for p in parts)


def test_the_text_shows_which_of_two_equal_brackets_is_outside():
    assert diagram(("S", 0, 2), ("NP", 0, 1), ("QP", 0, 1), words=3).text() == "(S (NP (QP w)) w) w"


def test_colours_do_not_depend_on_the_picture_if_the_codes_of_the_model_are_known():
    known = [0b0000, 0b0011, 0b1100, 0b1111, 0b0101]
    one = BracketDiagram(["a"], [Bracket("X", 0, 1, 3)], bits=4, codes=known)
    two = BracketDiagram(
        ["a", "b"], [Bracket("X", 0, 1, 3), Bracket("Y", 1, 2, 12)], bits=4, codes=known[::-1]
    )
    assert one.colours()[3] == two.colours()[3] != two.colours()[12]
    assert BracketDiagram(["a"], []).colours() == {}


def test_five_thousand_brackets_one_in_the_other():
    words = 5000
    spans = [Bracket("X", start, words) for start in range(words)]
    tree = BracketDiagram(["w"] * words, spans)
    assert tree.levels()[0] == words
    assert len(tree.children()) == words + 1
