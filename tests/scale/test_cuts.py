"""Pieces of a file give its sentences, each once and in order, wherever it is cut."""

import gzip
import io
import warnings
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data import corpus
from strukt.data.files.problems import DataWarning
from strukt.errors import DataError
from strukt.scale.cuts import Piece, cuts, lines_before

WORD = st.text(st.sampled_from("abé国(.\ufeff\u00a0"), min_size=1, max_size=8).filter(
    lambda word: word.strip()
)
BLANK = st.sampled_from(["", " ", "\t", "\u00a0", "\u2003 "])
SIZE = st.integers(1, 120)


def pieces(path, format, readers, size):
    """The pieces' bytes, and the sentences read from each."""
    found = cuts(path, format, readers, size)
    raw, sentences = [], []
    for start, stop in pairwise(found):
        with Piece(path, str(path), start, stop) as stream:
            raw.append(stream.read())
        with Piece(path, str(path), start, stop) as stream:
            sentences.append([str(sentence) for sentence in readers[format](stream)])
    return found, raw, sentences


def check(path, format, readers, size):
    """Nothing is lost or doubled, each piece has a sentence, and all but the last one are large enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found, raw, sentences = pieces(path, format, readers, size)
        expected = [str(sentence) for sentence in readers[format](str(path))]
    assert b"".join(raw) == path.read_bytes()
    assert list(chain.from_iterable(sentences)) == expected
    assert all(sentences)
    assert all(len(piece) >= size for piece in raw[:-1])
    return found


@given(st.lists(st.one_of(WORD, BLANK), min_size=1).filter(lambda lines: any(map(str.strip, lines))), SIZE)
def test_text(tmp_path_factory, lines, size):
    path = tmp_path_factory.getbasetemp() / "cut.txt"
    path.write_bytes("\n".join(lines).encode())
    check(path, "text", corpus.WORDS, size)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.lists(st.sampled_from(["", " "]), max_size=3)), min_size=1), SIZE
)
def test_blocks(tmp_path_factory, sizes, size):
    """CoNLL-U with any number of blank lines between the sentences and before the first one."""
    path = tmp_path_factory.getbasetemp() / "cut.conllu"
    rows = lambda count: "".join(f"{n}\tw{n}" + "\t_" * 8 + "\n" for n in range(1, count + 1))  # noqa: E731
    texts = [
        f"# text = s{n}\n{rows(count)}\n" + "\n".join(["", *more]) for n, (count, more) in enumerate(sizes)
    ]
    path.write_text("".join(text if text.endswith("\n") else text + "\n" for text in texts))
    check(path, "conllu", corpus.WORDS, size)


TREES = [
    "(ROOT (S (A a)))",
    "( (S (A a)\n      (B b)))",
    "(TOP\n(X (Y\ny)))",
    "(S (A a)\n(B b))",
    "(S1 (A a))",
]


@given(st.lists(st.tuples(st.sampled_from(TREES), st.sampled_from(["\n", "\n\n"])), min_size=1), SIZE)
def test_trees(tmp_path_factory, trees, size):
    path = tmp_path_factory.getbasetemp() / "cut.ptb"
    path.write_text("".join(tree + end for tree, end in trees))
    check(path, "brackets", corpus.TREES, size)


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "windows.txt"
    path.write_bytes("\ufeffa b\r\n\r\nc d\r\n\ufeffe\r\nf\r\n".encode())
    assert len(check(path, "text", corpus.WORDS, 1)) == 3  # at "c", "f" and the end


def test_no_cut_before_the_first_sentence(tmp_path):
    path = tmp_path / "late.txt"
    path.write_text("\n\n\n\na\nb\n")
    assert check(path, "text", corpus.WORDS, 1) == [0, 6, 8]


def test_what_cannot_be_entered_in_the_middle_is_one_piece(tmp_path):
    packed, entities = tmp_path / "a.txt.gz", tmp_path / "a.conllu"
    packed.write_bytes(gzip.compress(b"a\nb\nc\n"))
    entities.write_text(("1\ta" + "\t_" * 8 + "\n\n") * 5)
    assert len(check(packed, "text", corpus.WORDS, 1)) == 2
    assert len(check(entities, "conllu", corpus.ENTITIES, 1)) == 2
    assert len(check(entities, "conllu", corpus.WORDS, 1)) == 6


def test_an_empty_file_is_one_piece(tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    assert cuts(tmp_path / "empty.txt", "text", corpus.WORDS, 5) == [0, 0]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        cuts(tmp_path / "none.txt", "text", corpus.WORDS, 5)
    with pytest.raises(DataError, match="cannot be read"):
        Piece(tmp_path / "none.txt", "none.txt", 0, 1)


@given(st.binary(max_size=60), st.integers(0, 70), st.integers(0, 70))
def test_a_piece_is_a_slice(tmp_path_factory, content, start, length):
    path = tmp_path_factory.getbasetemp() / "slice.bin"
    path.write_bytes(content)
    with Piece(path, "slice", start, start + length) as piece:
        assert io.BufferedReader(piece, 7).read() == content[start : start + length]
    assert lines_before(path, start) == content[:start].count(b"\n")
