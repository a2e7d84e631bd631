"""Cutting files with one sentence a line."""

import io

import pytest

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
