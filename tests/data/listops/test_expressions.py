"""Expressions of lists, against trees that are built and evaluated by recursion."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.listops.expressions import OPERATORS, expressions, parse

MEANINGS = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(statistics.median(values)),
    "[SM": lambda values: sum(values) % 10,
    "[FIRST": lambda values: values[0],
    "[LAST": lambda values: values[-1],
}

TREES = st.recursive(
    st.integers(0, 9),
    lambda inner: st.tuples(st.sampled_from(sorted(OPERATORS)), st.lists(inner, min_size=1, max_size=5)),
    max_leaves=25,
)
"""Digits, and operators with lists of such."""


def written(tree, symbols, heads, arities, head=0):
    """Writes a tree down; its value."""
    heads.append(head)
    if isinstance(tree, int):
        symbols.append(str(tree))
        return tree
    operator, arguments = tree
    symbols.append(operator)
    arities.append(len(arguments))
    own = len(symbols)
    values = [written(argument, symbols, heads, arities, own) for argument in arguments]
    symbols.append("]")
    heads.append(own)
    return MEANINGS[operator](values)


@given(TREES)
def test_what_is_read_is_what_was_written(tree):
    symbols, heads, arities = [], [], []
    value = written(tree, symbols, heads, arities)
    found = parse(" ".join(symbols))
    assert (found.symbols, found.heads, found.arities, found.value) == (symbols, heads, arities, value)


def test_round_brackets_tell_nothing():
    plain, binary = "[MAX 2 9 [MIN 4 7 ] 0 ]", "( ( ( ( ( [MAX 2 ) 9 ) ( ( ( [MIN 4 ) 7 ) ] ) ) 0 ) ] )"
    assert parse(plain) == parse(binary)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no expression"),
        ("( )", "there is no expression"),
        ("[MAX [MIN 2", r"\[MIN is not closed by \]"),
        ("[MAX ]", r"\[MAX has no arguments"),
        ("[MAX 2 ] 3", "'3' follows the end"),
        ("]", r"\] closes no operator"),
        ("[MAX 2 12 ]", "'12' is not a digit"),
        ("[MOX 2 1 ]", r"'\[MOX' is not a digit, \] or one of \[MIN, "),
        ("[MAX 2 ) 1 ]", r"there is a \) without its \("),
        ("( [MAX 2 1 ]", r"there is a \( without its \)"),
    ],
)
def test_what_is_no_expression(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_nesting_has_no_limit():
    depth = 20_000
    found = parse("[MAX 1 " * depth + "5" + " ]" * depth)
    assert found.value == 5
    assert len(found.arities) == depth


def test_random_expressions_are_as_asked_for():
    found = list(expressions(400, ["[MIN", "[SM"], arguments=4, depth=3, longest=25, seed=7))
    assert found == list(expressions(400, ["[MIN", "[SM"], arguments=4, depth=3, longest=25, seed=7))
    assert found != list(expressions(400, ["[MIN", "[SM"], arguments=4, depth=3, longest=25, seed=8))
    assert len(set(found)) == 400
    read = [parse(text) for text in found]
    assert max(len(each.symbols) for each in read) <= 25
    assert {arity for each in read for arity in each.arities} == {2, 3, 4}
    assert {symbol for each in read for symbol in each.symbols if symbol in OPERATORS} == {"[MIN", "[SM"}
    assert max(depth(each) for each in read) == 3
    assert min(depth(each) for each in read) == 1


def depth(expression):
    """How many operators there are within each other."""
    most, here = 0, 0
    for symbol in expression.symbols:
        here += (symbol in OPERATORS) - (symbol == "]")
        most = max(most, here)
    return most


def test_random_arguments_are_operators_a_quarter_of_the_time():
    read = [parse(text) for text in expressions(3000, ["[MAX"], arguments=5, depth=20, longest=2000, seed=3)]
    first = [each.symbols[1] in OPERATORS for each in read if each.arities[0] >= 4]
    assert abs(statistics.mean(first) - 0.25) < 4 * (0.25 * 0.75 / len(first)) ** 0.5


def test_there_may_not_be_so_many():
    few = expressions(500, ["[MAX"], arguments=2, depth=1, longest=9, seed=1)
    with pytest.raises(ValueError, match="found 100 different expressions of up to 9 symbols"):
        list(few)
