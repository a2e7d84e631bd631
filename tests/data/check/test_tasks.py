"""Checking a corpus: all problems, and the counts of what is in it."""

import gzip
import io

import pytest
from tests import tiny_corpora
from tests.data.sources import shared, stream

from strukt.data.check import check
from strukt.errors import DataError


def row(identifier, head=0, upos="X", xpos="_", deprel="dep"):
    return f"{identifier}\tw\t_\t{upos}\t{xpos}\t_\t{head}\t{deprel}\t_\t_\n"


def checked(task, text, format="conllu", **options):
    report = check(task, stream(text, "a.conllu"), format, **options)
    return report, [(problem.rule, problem.line) for problem in report.problems]


def test_counts_of_a_treebank():
    report = check("dependency", shared("ud-english-ewt/en_ewt-ud-dev.conllu.gz"))
    assert report.problem_count == report.repair_count == 0
    assert report.summary() == {
        "sentences": 2001,
        "words": 25147,
        "longest sentence": 75,
        "multiword tokens": 359,
        "empty nodes": 4,
        "non-projective sentences": 31,
        "deprel labels": len(report.labels["deprel"]),
    }
    assert report.labels["deprel"]["root"] == 2001


def test_all_problems_of_all_sentences():
    text = (
        row(1)
        + row(3)
        + "\n"
        + row(1, 2)
        + row(2, 1)
        + "\n"
        + "x\n"
        + "\n"
        + row(1)
        + row(2, 1)
        + "\n\n"
        + row(1)
    )
    report, found = checked("dependency", text)
    assert found == [
        ("id", 2),
        ("root", 4),
        ("cycle", 4),
        ("column-count", 7),
        ("blank-line", 12),
        ("last-blank-line", 13),
    ]
    assert (report.problem_count, report.repair_count) == (4, 2)
    assert (report.sentences, report.words, report.longest, report.longest_line) == (2, 3, 2, 9)
    assert all(str(problem).startswith("a.conllu:") for problem in report.problems)
    assert all(problem.remedy for problem in report.problems)


def test_only_so_many_problems_of_a_kind_are_kept_but_all_are_counted():
    report, found = checked("dependency", (row(1, 2) + row(2, 1) + "\n") * 100, kept=10)
    assert len(found) == 20
    assert report.problem_count == 200
    assert report.kinds == {("root", False): 100, ("cycle", False): 100}


def test_crossing_arcs_are_counted():
    crossing = "".join(row(word, head) for word, head in enumerate([3, 0, 2, 1], 1))
    report, _ = checked("dependency", crossing + "\n" + row(1) + "\n")
    assert report.summary()["non-projective sentences"] == 1


def test_heads_do_not_matter_for_tagging():
    _, found = checked("tag", row(1, 2) + row(2, 1) + "\n")
    assert found == []


def test_all_layers_of_a_pipeline():
    text = "".join(map(str, tiny_corpora.layers(6)))
    report = check("pipeline", io.BytesIO(text.encode()), "conllu")
    assert (report.problem_count, report.sentences) == (0, 6)
    assert set(report.labels["type"]) == {"animal", "agent"}
    assert {"NN", "VBZ"} <= set(report.labels["xpos"])
    trees = "".join(map(str, tiny_corpora.trees(6)))
    assert check("pipeline", io.BytesIO(trees.encode()), "conllu").problem_count == 0
    for wrong in (text.replace("\t0\troot", "\t_\troot", 1), text.replace(")", "", 1)):
        assert check("pipeline", io.BytesIO(wrong.encode()), "conllu").problem_count


def test_a_column_of_tags_is_filled_or_empty():
    text = row(1, upos="NOUN") + row(2, upos="_") + "\n" + row(1, upos="VERB") + row(2, upos="_") + "\n"
    report, found = checked("tag", text)
    assert found == [("tag", 2)]
    assert report.labels["upos"] == {"NOUN": 1, "VERB": 1}
    assert report.summary()["xpos labels"] == 0


def test_no_tags_at_all():
    _, found = checked("tag", row(1, upos="_") + "\n")
    assert found == [("tag", 1), ("tag", 1)]


def test_columns():
    text = "a\tB-X\nb\tI-X\n\nc\tI-X\nd\tI-Y\n\ne\n\nf g\n\n"
    report, found = checked("tag", text, "columns")
    assert found == [("span", 4), ("span", 5), ("tag", 7), ("column-count", 9)]
    assert (report.sentences, report.words) == (1, 2)
    assert report.labels == {"tag": {"B-X": 1, "I-X": 1}}


def test_a_damaged_end_is_one_problem():
    packed = gzip.compress((row(1) + "\n").encode() * 50)[:-4]
    report = check("dependency", io.BytesIO(packed), "conllu")
    assert [problem.rule for problem in report.problems] == ["compression"]
    assert report.sentences == 50


@pytest.mark.parametrize(
    ("task", "format", "message"),
    [
        ("dependency", "columns", "the task dependency needs the format conllu, not columns"),
        ("ner", "text", "the task ner needs the format conllu or columns or jsonl, not text"),
    ],
)
def test_format_that_does_not_fit(task, format, message):
    with pytest.raises(DataError, match=message):
        check(task, io.BytesIO(b""), format)


@pytest.mark.parametrize("format", ["conllu", "columns"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "lemma"}, "column is 'lemma'; expected one of upos, xpos"),
        ({"constraints": "biose"}, "scheme is 'biose'; expected one of BIO"),
    ],
)
def test_options_are_checked_even_if_there_is_no_sentence(format, options, message):
    with pytest.raises(ValueError, match=message):
        check("tag", io.BytesIO(b""), format, **options)


def test_unknown_task():
    with pytest.raises(
        ValueError, match="there is no check for 'parse'; choose one of tag, dependency, constituency"
    ):
        check("parse", io.BytesIO(b""), "conllu")


def test_heads_of_classified_sentences_are_a_tree_if_there_are_any():
    bare = "# label = good\n" + row(1, "_", deprel="_") + row(2, "_", deprel="_") + "\n"
    tree = "# label = bad\n" + row(1, 2, deprel="_") + row(2, 0, deprel="_") + "\n"
    circle = "# label = good\n" + row(1, 0) + row(2, 3) + row(3, 2) + "\n"
    half = "# label = good\n" + row(1, 0) + row(2, "_") + "\n"
    for task in ("classify", "dictionary"):
        report, problems = checked(task, bare + tree + circle + half)
        assert problems == [("cycle", 11), ("head", 16)]
        assert report.labels == {"class": {"good": 1, "bad": 1}}
        assert "the heads form a cycle: 2 -> 3 -> 2; correct one of them" in str(report.problems[0])
    assert checked("classify", row(1, 0) + row(2, 3) + row(3, 2) + "\n")[1] == [("label", 1), ("cycle", 2)]
