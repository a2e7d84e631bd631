"""The files of tables: taken, made, extracted, fetched."""

import gzip

import pytest

from strukt.data import brackets, listops
from strukt.errors import DataError
from strukt.reproduce import table as tables
from strukt.reproduce.corpora import provide

COUNTING = tables.load("counting")

TREES = """(ROOT (S (NP-SBJ (DT The) (NN cat)) (VP (VBZ sees) (NP (PRP you))) (. .)))
(ROOT (FRAG (. ...)))
(ROOT (INTJ (UH Yes) (. .)))
"""


def test_a_file_that_is_there_is_taken(tmp_path):
    (tmp_path / "cogs").mkdir()
    path = tmp_path / "cogs" / "train.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\tc\n"))
    assert provide(tables.load("cogs"), "cogs/train.tsv", tmp_path) == path
    (tmp_path / "cogs" / "train.tsv").write_text("a\tb\tc\n")
    assert provide(tables.load("cogs"), "cogs/train.tsv", tmp_path) == tmp_path / "cogs" / "train.tsv"


def test_random_numbers_are_made_once(tmp_path):
    path = provide(COUNTING, "counting/dev.txt", tmp_path)
    lines = path.read_text().splitlines()
    assert len(lines) == 1000
    assert {len(line.split()) for line in lines} == set(range(10, 31))
    assert {word for line in lines for word in line.split()} == {"0", "1"}
    path.write_text("0 1\n")
    assert provide(COUNTING, "counting/dev.txt", tmp_path).read_text() == "0 1\n"


def test_short_trees_have_no_punctuation(tmp_path):
    (tmp_path / "gum").mkdir()
    (tmp_path / "gum" / "dev.ptb").write_text(TREES)
    words, tags = (
        list(brackets.read(provide(tables.load("grammar"), f"gum-short/{kind}-dev.ptb", tmp_path)))
        for kind in ("words", "tags")
    )
    assert [sentence.forms for sentence in words] == [["The", "cat", "sees", "you"]]
    assert [sentence.forms for sentence in tags] == [["DT", "NN", "VBZ", "PRP"]]
    assert str(words[0].tree) == "(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sees) (NP (PRP you)))))"


def test_short_expressions_have_at_most_forty_symbols(tmp_path):
    (tmp_path / "listops").mkdir()
    short = f"1\t[MAX {'1 ' * 38}]"
    (tmp_path / "listops" / "d20s-dev.tsv").write_text(f"{short}\n1\t[MAX {'1 ' * 39}]\n")
    path = provide(tables.load("listops"), "listops-short/d20s-dev.tsv", tmp_path)
    assert path.read_text() == f"{short}\n"
    assert [len(sentence) for sentence in listops.read(path)] == [40]


def test_a_corpus_that_cannot_be_fetched_is_named_with_the_remedy(tmp_path):
    (tmp_path / "cogs").mkdir()
    (tmp_path / "cogs" / "other.txt").write_text("something else\n")
    expected = rf"the corpus cogs cannot be fetched \(.*strukt data get cogs -o {tmp_path}/cogs, or .* --data"
    with pytest.raises(DataError, match=expected):
        provide(tables.load("cogs"), "cogs/train.tsv", tmp_path)
