"""Schemes of tags against what they are for: sequences that write some spans are allowed, and no others."""

import itertools

import pytest
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, Entities

from strukt.data.tag_schemes import SCHEMES, converted, scheme_of, sequence_faults, tag_fault

KINDS = ("X", "Y")
SINGLE = {"BIO": "B", "BIOES": "S", "BILOU": "U", "BMES": "S"}
FIRST_INSIDE_LAST = {"BIO": "BII", "BIOES": "BIE", "BILOU": "BIL", "BMES": "BME"}


def segmentations(n):
    """All ways to choose labelled spans, that do not overlap, of n words, with None for a word outside."""
    if n == 0:
        yield []
        return
    for rest in segmentations(n - 1):
        yield [(None, 1), *rest]
    for length, kind in itertools.product(range(1, n + 1), KINDS):
        for rest in segmentations(n - length):
            yield [(kind, length), *rest]


def written(scheme, spans):
    """The tags of spans, as the papers define them."""
    tags, before = [], None
    for kind, length in spans:
        if kind is None:
            tags.append("O")
        elif scheme == "IOB1":
            tags += [f"{'B' if before == kind else 'I'}-{kind}", *[f"I-{kind}"] * (length - 1)]
        elif length == 1:
            tags.append(f"{SINGLE[scheme]}-{kind}")
        else:
            first, inside, last = FIRST_INSIDE_LAST[scheme]
            tags += [f"{first}-{kind}", *[f"{inside}-{kind}"] * (length - 2), f"{last}-{kind}"]
        before = kind
    return tuple(tags)


def all_tags(scheme):
    return ["O", *(f"{mark}-{kind}" for mark in scheme_of(scheme).marks for kind in KINDS)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_is_what_writes_spans(scheme):
    rules = scheme_of(scheme)
    for n in (1, 2, 3, 4):
        expected = {written(scheme, spans) for spans in segmentations(n)}
        sequences = itertools.product(all_tags(scheme), repeat=n)
        assert {tags for tags in sequences if not list(sequence_faults(tags, rules))} == expected


@pytest.mark.parametrize("source", SCHEMES)
def test_spans_are_the_same_in_every_scheme(source):
    for target, n in itertools.product(SCHEMES, range(5)):
        for spans in segmentations(n):
            assert tuple(converted(written(source, spans), source, target)) == written(target, spans)


def test_marks_that_stand_alone_are_converted():
    assert converted(["B", "I", "B", "O", "B"], "iob2", "bmes") == ["B", "E", "S", "O", "S"]


def test_tags_that_break_their_scheme_are_not_converted():
    with pytest.raises(ValueError, match="tags: I-X follows O at position 1, which breaks BIO; correct the tags"):
        converted(["O", "I-X"], "BIO", "BIOES")
    with pytest.raises(ValueError, match="'E-X' is not a tag of BIO"):
        converted(["E-X"], "BIO", "BIOES")


@pytest.mark.parametrize(
    ("scheme", "peer"), [("BIO", IOB2), ("BIOES", IOBES), ("BILOU", BILOU), ("IOB1", IOB1)]
)
def test_seqeval_reads_the_spans_of_allowed_sequences_strictly(scheme, peer):
    for n in (1, 2, 3, 4):
        for spans in segmentations(n):
            tags = list(written(scheme, spans))
            ends = list(itertools.accumulate(length for _, length in spans))
            expected = [
                (kind, end - length, end) for (kind, length), end in zip(spans, ends, strict=True) if kind
            ]
            found = [(found.tag, found.start, found.end) for found in Entities([tags], peer).entities[0]]
            assert found == expected, (tags, spans)


def test_names_in_any_case_and_other_names():
    assert scheme_of("bioes") is scheme_of("IOBES") is SCHEMES["BIOES"]
    assert scheme_of("iob2") is SCHEMES["BIO"]
    with pytest.raises(ValueError, match="scheme is 'IOE'; expected one of BIO, IOB1, BIOES, BILOU, BMES"):
        scheme_of("IOE")


@pytest.mark.parametrize("tag", ["", "-", "B-", "BI", "b-X", "B_X", "O-X", "o"])
def test_other_tags_are_none_of_the_scheme(tag):
    assert not scheme_of("BIO").has(tag)
    fault = tag_fault(["O", "B-X", tag], scheme_of("BIO"))
    assert fault.startswith(f"{tag!r} is not a tag of BIO; expected O, B-X or I-X")


@pytest.mark.parametrize("length", [0, -1])
def test_a_span_has_a_word(length):
    with pytest.raises(ValueError, match=f"length is {length}; expected 1 or more"):
        scheme_of("BIO").span("X", length)


def test_marks_may_stand_alone_and_types_hold_hyphens():
    assert tag_fault(["B", "M", "E", "S"], scheme_of("BMES")) is None
    assert list(sequence_faults(["B", "M", "E", "S", "B", "E"], scheme_of("BMES"))) == []
    assert tag_fault(["O", "B-a-b", "I-a-b"], scheme_of("BIO")) is None
    assert list(sequence_faults(["B-a-b", "I-a-c"], scheme_of("BIO"))) == [(1, "I-a-c follows B-a-b")]


def test_tags_that_no_sentence_can_have_are_named_with_the_scheme_that_they_are_of():
    assert tag_fault(["O", "I-X", "I-Y", "B-Y"], scheme_of("BIO")) == (
        "'I-X' is in no sentence of BIO, as no sequence of these tags can precede it. All tags are valid in IOB1"
    )
    assert tag_fault(["O", "B-X", "I-X", "S-X"], scheme_of("BIOES")) == (
        "'B-X' is in no sentence of BIOES, as no sequence of these tags can follow it"
    )
    assert tag_fault(["O"], scheme_of("BILOU")) is None


def test_a_sequence_is_blamed_where_it_breaks():
    faults = list(sequence_faults(["I-X", "B-X", "O", "NOUN", "I-X", "B-X"], scheme_of("BIOES")))
    assert faults == [
        (0, "the sentence begins with I-X"),
        (1, "B-X follows I-X"),
        (2, "O follows B-X"),
        (3, "'NOUN' is not a tag of BIOES; expected O, B-X, I-X, E-X or S-X"),
        (5, "B-X follows I-X"),
        (5, "the sentence ends with B-X"),
    ]
