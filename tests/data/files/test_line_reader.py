"""The reader of numbered lines that the formats of sentences share."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.files.line_blocks import text_blocks
from strukt.data.files.line_reader import LineReader
from strukt.errors import DataError

LINES = st.lists(st.sampled_from(["a", "b\tc", "", " ", "\u00a0", "#"]))


def reader_of(lines, report, **options):
    return LineReader(io.BytesIO("".join(f"{line}\n" for line in lines).encode()), report, **options)


@given(LINES)
def test_lines_are_numbered_from_1_and_only_a_file_without_content_is_a_problem(lines):
    problems = []
    assert list(reader_of(lines, problems.append)) == list(enumerate(lines, 1))
    assert [problem.rule for problem in problems] == ([] if "".join(lines).strip() else ["empty-file"])


@given(LINES)
def test_filled_lines_keep_their_numbers(lines):
    filled = list(reader_of(lines, [].append).filled())
    assert filled == [(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def test_a_format_decides_which_lines_are_blank():
    problems = []
    reader = reader_of(["# a", "#"], problems.append, unit="tree", is_blank=lambda text: text.startswith("#"))
    assert list(reader.filled()) == []
    assert [str(problem) for problem in problems] == [
        "<stream>: the file holds no tree; give a file with at least one"
    ]


@given(LINES)
def test_text_has_single_spaces_and_blank_lines_are_skipped(lines):
    filled = [(number, " ".join(line.split())) for number, line in enumerate(lines, 1) if line.strip()]
    source = io.BytesIO("".join(f" {line}\n" for line in lines).encode())
    if filled:
        assert [(block.line, *block.lines) for block in text_blocks(source)] == filled
    else:
        with pytest.raises(DataError, match="the file holds no sentence"):
            list(text_blocks(source))
