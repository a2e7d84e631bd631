"""Columns of words and tags: what is read of them, which scheme is found, and what of it stays in another one."""

import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.sources import stream
from tests.tiny_corpora import CONLL_2003

from strukt.data.entities import layers
from strukt.data.files.problems import DataWarning
from strukt.data.tag_schemes import SCHEMES, converted, sequence_faults, tag_columns
from strukt.data.tag_schemes.tag_columns import TaggedWords, scheme_of_all
from strukt.errors import DataError


def read(text):
    return list(tag_columns.read(stream(text, "columns.txt")))


def test_conll_2003_as_it_is_published():
    sentences = read(CONLL_2003)
    assert [(sentence.words[0], sentence.line) for sentence in sentences] == [("EU", 3), ("Paris", 10)]
    scheme = scheme_of_all(sentences)
    assert scheme.name == "IOB1"
    written = "".join(str(sentence.converted(scheme, SCHEMES["BIO"])) for sentence in sentences)
    assert written == (
        "EU\tB-ORG\nrejects\tO\nGerman\tB-MISC\ncall\tO\n\nParis\tB-LOC\nLondon\tB-LOC\nBridge\tI-LOC\n\n"
    )
    found = [tuple(entity) for each in layers.read(io.BytesIO(written.encode())) for entity in each.entities]
    assert found == [(0, 1, "ORG"), (2, 3, "MISC"), (0, 1, "LOC"), (1, 3, "LOC")]


@pytest.mark.parametrize(
    ("text", "words", "tags"),
    [
        ("a  X   O \n b Y I-P\n\n", ["a", "b"], ["O", "I-P"]),
        ("New York\tNNP\tB-LOC\nsleeps\tVBZ\tO\n\n", ["New York", "sleeps"], ["B-LOC", "O"]),
        ("a\u00a0b O\n\u3000x O\n\n", ["a\u00a0b", "\u3000x"], ["O", "O"]),
        ("# O\n-DOCSTART-x O\n\n", ["#", "-DOCSTART-x"], ["O", "O"]),
    ],
)
def test_columns_are_separated_by_tabs_or_spaces(text, words, tags):
    [sentence] = read(text)
    assert (sentence.words, sentence.tags) == (words, tags)


def test_a_document_ends_a_sentence():
    first, second = read("a O\n-DOCSTART- O\nb O\nc O\n\n")
    assert (first.words, first.line, second.words, second.line) == (["a"], 1, ["b", "c"], 3)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file holds no sentence; give"),
        ("-DOCSTART- -X- O O\n\n-DOCSTART-\n\n", None, "the file holds no sentence; give"),
        ("a O\n\nb\n\n", 3, "expected a word and its tag, found one column; write"),
        ("a N O\nb O\n\n", 2, "expected 3 columns as in the lines before, found 2; separate"),
        ("a N O\n\nb N\tO\n\n", 3, "expected 3 columns as in the lines before, found 2; separate"),
        ("a\t\tO\n\n", 1, "column 2 is empty; write"),
        ("a O\n\u2003 O\n\n", 2, "column 1 holds only white space ('\\u2003'); write"),
        ("a O\nb\0 O\n\n", 2, "the line holds a NUL byte"),
    ],
)
def test_what_is_no_such_file(text, line, message):
    with pytest.raises(DataError) as caught:
        read(text)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == ("columns.txt", line)


def test_what_is_repaired():
    with pytest.warns(DataWarning) as said:
        [sentence] = read("\ufeffa O\r\nb O")
    assert str(sentence) == "a\tO\nb\tO\n\n"
    assert len(said) == 3


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a NOUN\n\n", 1, "BIO does up to this line, where 'NOUN' is not a tag of BIO"),
        ("a B-X\n\nb O\nc I-X\n\n", 4, "BIO does up to this line, where I-X follows O"),
        ("a B-X\nb E-X\nc S-X\nd O\ne I-X\n\n", 5, "BIOES does up to this line, where I-X follows O"),
        ("a B-X\nb L-X\nc B-X\n\n", 3, "BILOU does up to this line, where the sentence ends with B-X"),
    ],
)
def test_no_scheme_fits(text, line, message):
    with pytest.raises(DataError, match="no scheme fits all tags") as caught:
        scheme_of_all(read(text))
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == ("columns.txt", line)


def test_tags_that_break_their_scheme_are_refused_with_the_line():
    [sentence] = read("-DOCSTART-\na O\nb I-X\n\n")
    with pytest.raises(DataError, match="I-X follows O, which breaks BIO; correct the tags, or name") as caught:
        sentence.converted(SCHEMES["BIO"], SCHEMES["BIOES"])
    assert (caught.value.path, caught.value.line) == ("columns.txt", 3)


def test_schemes_that_fit_the_same_tags_read_the_same_spans():
    tags = ["O", *(f"{mark}-{kind}" for mark in "BIMELSU" for kind in "XY")]
    for n in (1, 2, 3):
        for sequence in itertools.product(tags, repeat=n):
            fitting = [name for name, rules in SCHEMES.items() if not any(sequence_faults(sequence, rules))]
            assert len({tuple(converted(sequence, name, "BIO")) for name in fitting}) <= 1


words = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1)
spans = st.lists(st.tuples(st.sampled_from(["O", "LOC", "PER", "a-b"]), st.integers(1, 4)), min_size=1)


def tagged(found, source):
    """A sentence with these spans, of which those of O are words outside."""
    tags = [tag for kind, n in found for tag in (["O"] * n if kind == "O" else SCHEMES["BIO"].span(kind, n))]
    return TaggedWords([f"w{i}" for i in range(len(tags))], converted(tags, "BIO", source), "columns.txt", 1)


@given(st.lists(spans, min_size=1), st.sampled_from(list(SCHEMES)))
def test_the_scheme_that_is_found_reads_the_spans_that_were_written(found, source):
    sentences = [tagged(each, source) for each in found]
    scheme, bio = scheme_of_all(sentences), SCHEMES["BIO"]
    for sentence in sentences:
        assert sentence.converted(scheme, bio) == sentence.converted(SCHEMES[source], bio)


@given(st.lists(words, min_size=1), st.sampled_from([" ", "\t", " N ", "\tN\t"]))
def test_words_are_kept(forms, between):
    text = "".join(f"{form}{between}O\n" for form in forms) + "\n"
    kept = [form for form in forms if form != "-DOCSTART-"]
    assert [word for sentence in read(text) for word in sentence.words] == kept
