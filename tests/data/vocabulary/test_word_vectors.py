"""Files of vectors of words."""

import gzip
import os

import pytest

from strukt.data.vocabulary import word_vectors
from strukt.errors import DataError


def read(path, content):
    path.write_bytes(content)
    return word_vectors.read(str(path))


@pytest.mark.parametrize("content", [b"the 1 -2.5\ncat 0 3e-1\n", b"2 2\nthe 1 -2.5 \ncat 0 0.3\nthe 9 9\n"])
def test_words_and_their_numbers(content, tmp_path):
    words, vectors = read(tmp_path / "vectors.txt", content)
    assert words.symbols == ("the", "cat")
    assert vectors.tolist() == [[1.0, -2.5], [0.0, pytest.approx(0.3)]]


def test_compressed_files_and_words_with_spaces(tmp_path):
    words, vectors = read(tmp_path / "vectors.gz", gzip.compress(b"a 1 2\n. . 3 4\n"))
    assert (words.symbols, vectors.shape) == (("a", ". ."), (2, 2))


def test_spaces_around_a_word_are_no_part_of_it(tmp_path):
    words, _ = read(tmp_path / "vectors.txt", b"the  1 2\n a 3 4\n")
    assert words.symbols == ("the", "a")


def test_a_file_that_has_changed_is_read_again(tmp_path):
    path = tmp_path / "vectors.txt"
    for time, content in ((1, b"a 1 2\n"), (2, b"b 3 4\n")):
        path.write_bytes(content)
        os.utime(path, (time, time))
        words, _ = word_vectors.read(str(path))
        assert words.symbols == (content[:1].decode(),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a 1 2\nb 1\n", ":2: the vector of 'b' does not have 2 finite numbers"),
        (b"a 1 2\nb 1 x\n", ":2: the vector of 'b' does not have 2 finite numbers"),
        (b"a 1 2\nb 1 nan\n", ":2: the vector of 'b' does not have 2 finite numbers"),
        (b"a 1 2\n 3 4\n", ":2: the vector of '' does not have"),
        (b"a\n", ":1: the vector of 'a' does not have 1 finite numbers"),
        (b"2 300\n", ": the file holds no vectors"),
    ],
)
def test_what_is_no_vector(content, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read(tmp_path / "vectors.txt", content)
