"""Sequences as matrices."""

from __future__ import annotations

import numpy as np
import pytest

from strukt.sklearn.tokens import Labelled, are_vectors, as_sequences, attributes, numbered, vectors

ITEMS = [
    {"bias": 1.0, "word": "Rome", "upper": True, "digit": False, "length": 4},
    {"set": {"x"}, "list": ["y", "z"], "nested": {"deep": {"er": 2.5}, "word": "a:b"}},
    ["plain", "names"],
    {},
]


def dense(rows, columns):
    """Each token as a dictionary."""
    names = list(columns)
    matrix = rows.tokens.tocoo()
    result = [{} for _ in range(matrix.shape[0])]
    for row, column, value in zip(*matrix.coords, matrix.data, strict=True):
        result[row][names[column]] = value
    return result


def test_attributes_are_named_as_in_python_crfsuite():
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="needs python-crfsuite")
    columns: dict[str, int] = {}
    rows = attributes([ITEMS], columns, grow=True)
    assert dense(rows, columns) == pycrfsuite.ItemSequence(ITEMS).items()
    assert rows.lengths.tolist() == [4]


def test_unknown_attributes_are_left_out():
    columns = {"b": 0, "a:x": 1}
    rows = attributes([[{"a": "x", "c": 2.0}], [], [["c"], {"b": -1}]], columns, grow=False)
    np.testing.assert_array_equal(rows.tokens.toarray(), [[0, 1], [0, 0], [-1, 0]])
    assert columns == {"b": 0, "a:x": 1}
    assert rows.lengths.tolist() == [1, 0, 2]


def test_names_that_occur_twice_count_twice():
    rows = attributes([[["a", "a"]]], {"a": 0}, grow=False)
    assert rows.tokens.toarray().tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        (["word"], r"X\[0\]\[0\] is of type str; expected a dict"),
        ([{"a": None}], r"X\[0\]\[0\] has a value of type NoneType for 'a'; expected a dict"),
        ([{}, {"a": {"b": None}}], r"X\[0\]\[1\] has a value of type NoneType for 'a:b'"),
        ([{1: "a"}], r"X\[0\]\[0\] has a name of type int"),
        ([[b"a"]], r"X\[0\]\[0\] has a name of type bytes"),
        ([{"a": 10**400}], r"X\[0\]\[0\] has a value beyond those of floats"),
        ([{"a": float("nan")}], r"X\[0\]\[0\] has the value nan for 'a'; expected a finite number"),
    ],
)
def test_wrong_tokens_are_refused(sequence, message):
    with pytest.raises(ValueError, match=message):
        attributes([sequence], {}, grow=True)


def test_infinite_values_are_named_with_their_token():
    sequences = [[{"a": 1.0}], [], [{}, {"a": 1.0, "b": float("-inf"), "c": 2.0}], [{"a": 1.0}]]
    with pytest.raises(ValueError, match=r"X\[2\]\[1\] has the value -inf for 'b'"):
        attributes(sequences, {}, grow=True)


@pytest.mark.parametrize("sequence", [[[1.0, 2.0], [3.0, 4.0]], np.array([[1.0, 2.0], [3.0, 4.0]])])
def test_vectors_are_stacked(sequence):
    assert are_vectors([[], sequence])
    rows = vectors([sequence, [], np.zeros((1, 2))], None)
    np.testing.assert_array_equal(rows.tokens, [[1, 2], [3, 4], [0, 0]])
    assert rows.lengths.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        (np.zeros((2, 3)), r"X\[1\] has shape \(2, 3\); expected \(n, 2\)"),
        (np.full((1, 2), np.inf), r"X\[1\] contains NaN or infinity"),
        ([[1.0, 2.0], [3.0]], r"X\[1\] is not an array of numbers"),
        ([{"a": 1.0}], r"X\[1\] is not an array of numbers"),
    ],
)
def test_wrong_vectors_are_refused(sequence, message):
    with pytest.raises(ValueError, match=message):
        vectors([np.zeros((1, 2)), sequence], None)


def test_dictionaries_and_names_are_no_vectors():
    assert not are_vectors([])
    assert not are_vectors([[{"a": 1.0}]])
    assert not are_vectors([[["a"]]])
    with pytest.raises(ValueError, match=r"X\[0\]\[0\] is a number; .*; pass \[X\] if X is one sequence"):
        are_vectors(np.zeros((3, 2)))


@pytest.mark.parametrize("given", ["text", {"a": 1}, 3, None])
def test_what_is_no_list_of_sequences_is_refused(given):
    with pytest.raises(
        ValueError, match=f"X is of type {type(given).__name__}; expected a list of sequences"
    ):
        as_sequences("X", given)
    with pytest.raises(ValueError, match=rf"X\[0\] is of type {type(given).__name__}; expected a sequence"):
        as_sequences("X", [given])


def test_labels_are_numbered_in_order():
    classes, numbers = numbered([["b", "a"], [], np.array(["b"])], np.array([2, 0, 1]), None)
    assert classes == ["a", "b"]
    assert numbers.tolist() == [1, 0, 1]
    assert numbered([[3, 1]], np.array([2]), [1, 2, 3])[1].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        ([["a"]], None, "y has 1 sequences and X has 2; expected the same number"),
        ([["a"], ["b"]], None, r"y\[1\] has 1 labels and X\[1\] has 2 tokens; expected one label for each token"),
        ([["a"], ["b", 1]], None, "y has labels of type int, str; expected all strings or all numbers"),
        ([[None], [None, None]], None, "y has labels of type NoneType; expected all strings or all numbers"),
        ([[b"a"], [b"b", b"a"]], None, "y has labels of type bytes; expected all strings or all numbers"),
        ([[(1, 2)], [(1, 2), (3, 4)]], None, "y has labels of type tuple; expected all strings or all numbers"),
        ([[1.0], np.array([1.0, np.nan])], None, "y has the label NaN; expected numbers"),
        ([["a"], ["b", ["c"]]], ["a", "b"], r"y has the label \['c'\]; expected one of"),
        ([["a"], ["b", "c"]], ["a", "b"], "y has the label 'c'; expected one of"),
        (["a", "bc"], None, r"y\[0\] is of type str; expected a sequence"),
    ],
)
def test_wrong_labels_are_refused(y, classes, message):
    with pytest.raises(ValueError, match=message):
        numbered(y, np.array([1, 2]), classes)


def test_pairs_stay_within_sequences():
    data = Labelled(None, np.array([0, 2, 1, 0, 3, 0]), np.array([5, 6, 7, 0, 1, 2]))
    first, second = data.pairs
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(5, 6), (0, 1), (1, 2)]
