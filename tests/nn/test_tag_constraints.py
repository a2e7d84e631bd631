"""The rules of tags as layers take them: what they allow is what the scheme allows, and nothing is left free."""

import itertools

import pytest
import torch

from strukt.data.tag_schemes import SCHEMES, scheme_of, sequence_faults
from strukt.nn import CRF, bio_constraints, tag_constraints


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_layer_gives_the_sequences_of_the_scheme_probability_and_no_others(scheme):
    rules = scheme_of(scheme)
    tags = ["O", *(f"{mark}-{kind}" for mark in rules.marks for kind in "XY")]
    torch.manual_seed(0)
    chain = CRF(len(tags), tag_constraints(tags, scheme))(torch.randn(3, len(tags)))
    sequences = torch.tensor(list(itertools.product(range(len(tags)), repeat=3)))
    possible = chain.log_prob(sequences) > -torch.inf
    expected = [not list(sequence_faults([tags[tag] for tag in row], rules)) for row in sequences.tolist()]
    assert possible.tolist() == expected


@pytest.mark.parametrize(
    ("tags", "scheme", "message"),
    [
        (["O", "B-X", "I-X", "E-X", "S-X"], "BIO", "'E-X' is not a tag of BIO; .* All tags are valid in BIOES"),
        (["O", "B-X", "I-X", "L-X", "U-X"], "BIO", "'L-X' is not a tag of BIO; .* All tags are valid in BILOU"),
        (["B", "M", "E", "S"], "BIO", "'M' is not a tag of BIO; .* All tags are valid in BMES"),
        (["O", "I-X"], "BIO", "'I-X' is in no sentence of BIO, .* All tags are valid in IOB1"),
        (["NOUN", "VERB"], "BIOES", "'NOUN' is not a tag of BIOES; expected O, B-X, I-X, E-X or S-X"),
        (["O", "B-X", "I-X", "S-X"], "BIO", "'S-X' is not a tag of BIO"),
        (["O", "B-A", "I-A", 5], "BIO", "tags has 5, of type int; expected names"),
        ("OBI", "BIO", "tags is 'OBI', of type str; expected a list of names"),
        (["O"], "IOE2", "scheme is 'IOE2'; expected one of BIO, IOB1, BIOES, BILOU, BMES"),
    ],
)
def test_tags_of_another_scheme_are_refused(tags, scheme, message):
    with pytest.raises(ValueError, match=message):
        tag_constraints(tags, scheme)
    if scheme == "BIO":
        with pytest.raises(ValueError, match=message):
            bio_constraints(tags)


def test_no_tags_have_no_rules():
    assert [rule.numel() for rule in tag_constraints([])] == [0, 0, 0]
