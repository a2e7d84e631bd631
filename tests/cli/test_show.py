"""Pictures from the command line."""

import pytest
from tests.viz.test_html import Page

from strukt.cli.main import main
from strukt.data import conllu
from strukt.tasks.prediction import diagram_of


def test_a_tree_in_the_terminal(parser, capsys):
    assert main(["show", parser, "total = price * tax"]) == 0
    out, err = capsys.readouterr()
    assert out.count("▼") == 5
    assert out.splitlines()[-1].split() == ["total", "=", "price", "*", "tax"]
    assert err == ""
    assert "\x1b" not in out


def test_tags_in_the_terminal(tagger, capsys):
    assert main(["show", tagger, "total", "=", "price"]) == 0
    words, tags = capsys.readouterr().out.splitlines()
    assert words.split() == ["total", "=", "price"]
    assert len(tags.split()) == 3


def test_a_narrow_terminal_has_one_word_a_line(parser, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    main(["show", parser, "total = price * tax"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in lines] == ["total", "=", "price", "*", "tax"]


def test_probabilities_are_written_beside(tagger, capsys):
    main(["show", tagger, "total = price", "--probabilities"])
    probabilities = capsys.readouterr().out.splitlines()[-1].split()
    assert len(probabilities) == 3
    assert all(0 <= float(probability) <= 1 for probability in probabilities)


def test_a_page_is_written_and_the_sentence_escaped(parser, tmp_path, capsys):
    path = tmp_path / "tree.html"
    assert main(["show", parser, "a < b & <script>", "--html", str(path), "--probabilities"]) == 0
    assert capsys.readouterr() == ("", f"wrote {path}\n")
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    page = Page(text)
    assert page.open == []
    assert {"a", "<", "b", "&", "script", ">"} <= set(page.texts)


@pytest.mark.parametrize("sentence", ["", "  "])
def test_an_empty_sentence_is_asked_for(parser, sentence, capsys):
    assert main(["show", parser, sentence]) == 2
    assert capsys.readouterr().err.startswith("error: the sentence is empty; give one")


def test_a_missing_model_is_named(capsys):
    assert main(["show", "nowhere", "x"]) == 2
    assert capsys.readouterr().err == "error: nowhere: there is no such model folder\n"


def test_a_diagram_has_what_the_sentence_has():
    bare = conllu.from_forms(["a", "b"])
    assert (diagram_of(bare).tags, diagram_of(bare).heads) == ([], [])
    tagged = bare.annotated(upos=["X", "Y"]).with_misc(p=["0.5", "0.25"])
    assert diagram_of(tagged).tags == ["X", "Y"]
    assert diagram_of(tagged).tag_probabilities == [0.5, 0.25]
    parsed = tagged.annotated(head=[2, 0], deprel=["det", "root"])
    assert diagram_of(parsed).relations == ["det", "root"]
    assert diagram_of(parsed).head_probabilities == [0.5, 0.25]
    assert diagram_of(parsed).tag_probabilities == []


def test_language_specific_tags_are_drawn_first():
    assert diagram_of(conllu.from_forms(["a"]).annotated(upos=["X"], xpos=["XX"])).tags == ["XX"]
