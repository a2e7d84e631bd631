"""The files that commands read, one after the other."""

import pytest

from strukt.cli import corpora
from strukt.data import conllu, corpus
from strukt.errors import DataError


def write(path, *forms: str) -> str:
    path.write_text(str(conllu.from_forms(list(forms))), encoding="utf-8")
    return str(path)


def test_files_come_in_turn_and_only_when_needed(tmp_path):
    first, second = write(tmp_path / "a.conllu", "a"), write(tmp_path / "b.conllu", "b")
    sentences = corpora.read([first, second], None, corpus.WORDS)
    assert next(sentences).forms == ["a"]
    write(tmp_path / "b.conllu", "later")
    assert [sentence.forms for sentence in sentences] == [["later"]]


def test_the_format_that_is_given_wins_over_the_name(tmp_path):
    path = tmp_path / "text.conllu"
    path.write_text("two words\n")
    sentences = corpora.read([str(path)], "text", corpus.WORDS)
    assert [sentence.forms for sentence in sentences] == [["two", "words"]]


def test_a_missing_file_is_said_at_once(tmp_path):
    with pytest.raises(DataError, match=r"missing\.conllu: there is no such file"):
        corpora.read([write(tmp_path / "a.conllu", "a"), "missing.conllu"], None, corpus.WORDS)


def test_a_file_is_read_for_what_it_is_needed_for(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["Go"]}\n')
    assert [sentence.forms for sentence in corpora.read([str(path)], None, corpus.ENTITIES)] == [["Go"]]
    with pytest.raises(DataError, match=r"a\.jsonl: is of the format jsonl; expected one of conllu"):
        list(corpora.read([str(path)], None, corpus.WORDS))
