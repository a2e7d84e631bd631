"""Cutting files into sentences at blank lines."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data.files.blocks import blocks


def cut(content):
    found = []
    return list(blocks(io.BytesIO(content), found.append)), [problem.rule for problem in found]


@pytest.mark.parametrize(
    ("content", "expected", "rules"),
    [
        (b"a\nb\n\nc\n\n", [(1, ["a", "b"]), (4, ["c"])], []),
        (b"a\n\n", [(1, ["a"])], []),
        (b"a\n", [(1, ["a"])], ["last-blank-line"]),
        (b"a", [(1, ["a"])], ["last-blank-line"]),
        (b"a\n\nb", [(1, ["a"]), (3, ["b"])], ["last-blank-line"]),
        (b"\na\n\n", [(2, ["a"])], ["blank-line"]),
        (b"a\n\n\n\nb\n\n\n", [(1, ["a"]), (5, ["b"])], ["blank-line"]),
        (b"", [], ["empty-file"]),
        (b"\n", [], ["blank-line", "empty-file"]),
    ],
)
def test_blocks(content, expected, rules):
    found, problems = cut(content)
    assert [(block.line, block.lines) for block in found] == expected
    assert problems == rules


@given(
    st.lists(st.lists(st.sampled_from(["a", "#", " b"]), min_size=1), min_size=1),
    st.sampled_from(["", " ", "\t"]),
)
def test_the_text_is_kept(sentences, blank):
    text = "".join("".join(line + "\n" for line in sentence) + blank + "\n" for sentence in sentences)
    found, problems = cut(text.encode())
    assert "".join(map(str, found)) == text
    assert problems == []
    assert [block.lines for block in found] == sentences
