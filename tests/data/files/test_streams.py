"""Opening files and streams."""

import errno
import gzip
import io
import os
import sys

import pytest

from strukt.data import files
from strukt.data.files import streams
from strukt.errors import DataError


def lines(content, report=None):
    found = []
    result = list(files.lines(io.BytesIO(content), report or found.append))
    return result, found


def test_lines_without_their_ends():
    assert lines(b"a\n\n b\t\nc") == (["a", "", " b\t", "c"], [])


def test_problems_are_collected_and_reading_goes_on():
    result, found = lines(b"\xef\xbb\xbfa\r\n\xff\nb\0\nc\rd\n")
    assert result == ["a", "\ufffd", "b\0", "c\rd"]
    assert [(problem.rule, problem.line, problem.repaired) for problem in found] == [
        ("byte-order-mark", 1, True),
        ("line-end", 1, True),
        ("encoding", 2, False),
        ("control-character", 3, False),
        ("control-character", 4, False),
    ]


def test_byte_order_mark_counts_only_at_the_beginning():
    result, found = lines("a\n\ufeffb\n".encode())
    assert result == ["a", "\ufeffb"]
    assert found == []


def test_longest_line():
    result, found = lines(b"x" * (files.LONGEST_LINE - 1) + b"\nshort\n")
    assert [len(line) for line in result] == [files.LONGEST_LINE - 1, 5]
    assert found == []
    result, [problem] = lines(b"short\n" + b"x" * files.LONGEST_LINE + b"\nshort\n")
    assert result == ["short"]
    assert (problem.rule, problem.line) == ("line-length", 2)


def test_gzip_is_known_by_its_content_whatever_its_name(tmp_path):
    packed = tmp_path / "packed.txt"
    packed.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    plain = tmp_path / "plain.gz"
    plain.write_bytes(b"a\nb\n")
    assert list(files.lines(packed)) == list(files.lines(plain)) == ["a", "b"]


def test_errors_of_the_system_become_one_line():
    class Failing(io.RawIOBase):
        name = "disk.conllu"

        def readable(self):
            return True

        def readinto(self, buffer):
            if buffer[:1] == b"a":
                raise OSError(errno.EIO, "Input/output error")
            buffer[:2] = b"a\n"
            return 2

    reader = files.lines(Failing())
    assert next(reader) == "a"
    with pytest.raises(DataError, match=r"^disk\.conllu:1: the file cannot be read further: Input/output error"):
        list(reader)


def test_file_is_closed_when_reading_stops_early(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\n")
    reader = files.lines(path)
    next(reader)
    reader.close()  # a file left open would be a ResourceWarning, which fails the test
    path.unlink()


def test_a_file_read_in_part_is_closed_without_a_message_when_python_exits(monkeypatch):
    """By then, the names in modules may be None."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    read_in_part = files.lines(io.BytesIO(b"a\nb\n"))
    assert next(read_in_part) == "a"
    monkeypatch.setattr(streams, "zlib", None)
    del read_in_part
    assert not ignored


def test_names():
    assert files.name_of(io.BytesIO()) == "<stream>"
    with open(os.devnull, "rb") as stream:
        assert files.name_of(stream) == os.devnull
    with os.fdopen(os.dup(0), "rb") as stream:  # its name is a number
        assert files.name_of(stream) == "<stream>"
