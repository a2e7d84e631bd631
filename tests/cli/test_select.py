"""The sentences that `strukt select` finds, as files and as tables."""

import io
import re

import pytest
from tests import tiny_corpora

from strukt.cli.main import main
from strukt.data import conllu
from strukt.data.conllu import entity_notes
from strukt.tasks.ner.model import EntityModel
from strukt.train import saved_model

DECLARED = "# global.Entity = GRP-etype"
MENTIONS = "1\tAda{0}\tEntity=(1-person)\n2\tsleeps{0}\t_\n\n".format("\t_" * 7)


def most_undecided(model, path, count):
    return saved_model.load(model).most_undecided(conllu.read(path), count)


def test_sentences_are_written_as_they_stand_in_the_file(parser, treebank, capsys):
    assert main(["select", parser, treebank.test, "-n", "4"]) == 0
    out, err = capsys.readouterr()
    expected = [each.sentence for each in most_undecided(parser, treebank.test, 4)]
    assert (out, err) == ("".join(map(str, expected)), "")
    assert set(expected) <= set(conllu.read(treebank.test))


def test_a_table_has_words_entropy_and_place(tagger, treebank, tmp_path, capsys):
    output = tmp_path / "table.txt"
    assert main(["select", tagger, treebank.test, "--number", "3", "--table", "-o", str(output)]) == 0
    assert capsys.readouterr().out == ""
    header, *rows = output.read_text().splitlines()
    assert header.split() == ["sentence", "words", "entropy", "per", "word", "place"]
    for row, each in zip(rows, most_undecided(tagger, treebank.test, 3), strict=True):
        place = f"{treebank.test}:{each.sentence.line}"
        assert re.search(rf"  {len(each.sentence)} +{each.entropy:.4f} +{re.escape(place)}$", row)
        assert row.startswith(" ".join(each.sentence.forms)[:40])


def test_plain_text_becomes_a_file_to_be_annotated(tagger, tmp_path, monkeypatch, capsys):
    text = io.TextIOWrapper(io.BytesIO(b"total = price\nif x :\n"))
    monkeypatch.setattr("sys.stdin", text)
    assert main(["select", tagger, "-", "--format", "text"]) == 0
    found = list(conllu.read(io.BytesIO(capsys.readouterr().out.encode())))
    assert sorted(sentence.comments for sentence in found) == [["# text = if x :"], ["# text = total = price"]]


def test_sentences_with_entities_declare_the_fields_of_these(tmp_path, capsys):
    path, folder = tmp_path / "mentions.conllu", tmp_path / "model"
    path.write_text(f"{DECLARED}\n{MENTIONS * 5}")
    saved_model.save(EntityModel.from_corpus(tiny_corpora.ner_config(), list(entity_notes.read(path))), folder)
    assert main(["select", str(folder), str(path), "-n", "3"]) == 0
    out = capsys.readouterr().out
    assert out == f"{DECLARED}\n{MENTIONS}" * 3
    assert all(sentence.entities for sentence in entity_notes.read(io.BytesIO(out.encode())))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--number", "0"], "--number is 0; expected 1 or more"),
        (["-o", "here.conllu"], "here.conllu exists already; add --force to replace it"),
        (["-o", "out.conllu.gz"], "out.conllu.gz: the output is not compressed; remove .gz from the name"),
        (["none.conllu"], "none.conllu: there is no such file"),
    ],
)
def test_what_cannot_be_selected_is_told_in_one_line(
    tagger, treebank, arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.conllu").write_text("kept")
    assert main(["select", tagger, treebank.dev, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert (tmp_path / "here.conllu").read_text() == "kept"
