"""The files that commands read, one after the other."""

import pytest

from strukt.cli import corpora
from strukt.cli.console import UsageError
from strukt.data import conllu, corpus
from strukt.data.files.problems import DataWarning
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


def test_a_missing_file_is_said_at_once(tmp_path):
    with pytest.raises(DataError, match=r"missing\.conllu: there is no such file"):
        corpora.read([write(tmp_path / "a.conllu", "a"), "missing.conllu"], None, corpus.WORDS)


def test_standard_input_cannot_be_read_twice(tmp_path):
    with pytest.raises(UsageError, match="- is given twice; standard input can be read only once"):
        corpora.read(["-", write(tmp_path / "a.conllu", "a"), "-"], None, corpus.WORDS)


def test_a_long_sentence_is_warned_of_once(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("short\n" + "x " * 3000 + "\n" + "y " * 2000 + "\n")
    with pytest.warns(DataWarning) as told:
        sentences = list(corpora.read([str(path)], None, corpus.WORDS))
    assert [len(sentence) for sentence in sentences] == [1, 3000, 2000]
    (message,) = told
    assert str(message.message).startswith(f"{path}:2: the sentence has 3,000 words, which may take minutes; ")


@pytest.mark.filterwarnings("default::strukt.data.files.problems.DataWarning")
@pytest.mark.parametrize("command", ["predict", "evaluate", "show"])
def test_every_command_warns_of_a_long_sentence(command, tagger, tmp_path, capsys):
    from strukt.cli.main import main

    path = tmp_path / "long.conllu"
    forms = ["x"] * 1001
    path.write_text(str(conllu.from_forms(forms).annotated(xpos=["NAME"] * 1001)), encoding="utf-8")
    assert main([command, tagger, " ".join(forms) if command == "show" else str(path)]) == 0
    assert "the sentence has 1,001 words, which may take minutes" in capsys.readouterr().err
