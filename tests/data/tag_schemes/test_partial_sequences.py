"""Sequences of which some tags are missing, against all ways to complete them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.tag_schemes import SCHEMES, partial_sequence_faults, scheme_of, sequence_faults
from strukt.data.tag_schemes.partial_sequences import OTHER

LABELS = {
    "bio": ["O", "B-A", "I-A", "B-B", "I-B"],
    "bioes": ["O", "B-A", "I-A", "E-A", "S-A", "B-B", "E-B"],
    "iob1": ["O", "I-A", "B-A", "I-B"],
}


def can_be_completed(tags, choices, scheme):
    completed = itertools.product(*([tag] if tag != "_" else choices for tag in tags))
    return any(not list(sequence_faults(each, scheme)) for each in completed)


@given(st.data())
def test_tags_are_possible_if_some_sequence_of_the_labels_has_them(data):
    name = data.draw(st.sampled_from(sorted(LABELS)))
    labels, scheme = LABELS[name], scheme_of(name)
    other = f"{scheme.marks[0]}-C"  # a word may be annotated with a tag that no other word can get
    tags = data.draw(st.lists(st.sampled_from([*labels, other, "_", "_"]), min_size=1, max_size=4))
    faults = list(partial_sequence_faults(tags, scheme, labels))
    assert (not faults) == can_be_completed(tags, labels, scheme)


@given(st.data())
def test_without_labels_a_missing_tag_may_be_any_of_the_scheme(data):
    scheme = data.draw(st.sampled_from(list(SCHEMES.values())))
    every = ["O", *(f"{mark}-{kind}" for mark in scheme.marks for kind in ("A", "B", OTHER))]
    tags = data.draw(st.lists(st.sampled_from([*every, "_", "_"]), min_size=1, max_size=4))
    assert (not list(partial_sequence_faults(tags, scheme))) == can_be_completed(tags, every, scheme)


@pytest.mark.parametrize(
    ("scheme", "tags", "position", "message"),
    [
        ("BIO", ["_", "X"], 1, "'X' is not a tag of BIO; expected O, B-X or I-X"),
        ("BIO", ["I-A"], 0, "I-A cannot follow the beginning, whatever the tags of the other words are"),
        ("BIO", ["B-A", "_", "O", "I-A", "B-A"], 3, "I-A cannot follow O of word 3, whatever the tags"),
        ("BIOES", ["_", "B-A"], 1, "the sentence cannot end after B-A of word 2, whatever"),
    ],
)
def test_the_first_fault_is_named(scheme, tags, position, message):
    [(found, said)] = partial_sequence_faults(tags, scheme_of(scheme))
    assert found == position
    assert said.startswith(message)
