"""Cutting files with one sentence a line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.files.line_blocks import line_blocks


def cut(content):
    found = []
    return list(line_blocks(io.BytesIO(content), found.append)), [problem.rule for problem in found]


@pytest.mark.parametrize(
    ("content", "expected", "rules"),
    [
        (b"a b\nc\n", [(1, ["a b"]), (2, ["c"])], []),
        (b"a", [(1, ["a"])], []),
        (b"\n \na\n\n", [(3, ["a"])], ["blank-line"]),
        (b"", [], ["empty-file"]),
        (b"\n", [], ["blank-line", "empty-file"]),
    ],
)
def test_line_blocks(content, expected, rules):
    found, problems = cut(content)
    assert [(block.line, block.lines) for block in found] == expected
    assert problems == rules


@given(st.lists(st.sampled_from(["a", "b\tc", "", " ", "#"])))
def test_every_line_that_is_not_blank_is_a_block_with_its_number(lines):
    found, _ = cut("".join(f"{line}\n" for line in lines).encode())
    assert [(block.line, *block.lines) for block in found] == [
        (number, line) for number, line in enumerate(lines, 1) if line.strip()
    ]
