"""The files that commands read, one after the other."""

import pytest

from strukt.cli import corpora
from strukt.data import conllu
from strukt.errors import DataError


def write(path, *forms: str) -> str:
    path.write_text(str(conllu.from_forms(list(forms))), encoding="utf-8")
    return str(path)


def test_files_come_in_turn_and_only_when_needed(tmp_path):
    first, second = write(tmp_path / "a.conllu", "a"), write(tmp_path / "b.conllu", "b")
    sentences = corpora.read([first, second], None)
    assert next(sentences).forms == ["a"]
    write(tmp_path / "b.conllu", "later")
    assert [sentence.forms for sentence in sentences] == [["later"]]


def test_the_format_that_is_given_wins_over_the_name(tmp_path):
    path = tmp_path / "text.conllu"
    path.write_text("two words\n")
    assert [sentence.forms for sentence in corpora.read([str(path)], "text")] == [["two", "words"]]


def test_a_missing_file_is_said_at_once(tmp_path):
    with pytest.raises(DataError, match=r"missing\.conllu: there is no such file"):
        corpora.read([write(tmp_path / "a.conllu", "a"), "missing.conllu"], None)


@pytest.mark.parametrize(("path", "format"), [("-", "conllu"), ("a.tsv", None)])
def test_standard_input_is_conllu(path, format):
    assert corpora.default_format(path) == format
