"""Checking corpora of entities: all problems, and the counts of what is in them."""

import pytest
from tests.data.sources import stream

from strukt.data.check import check

CONLLU = "# global.Entity = GRP-etype\n" + "".join(
    f"{number}\tw" + "\t_" * 7 + f"\tEntity={note}\n"
    for number, note in enumerate(["(1-person", "(2-place)(3-time)", "1)(4-time)"], 1)
)


def checked(text, format, **options):
    report = check("ner", stream(text, "a.txt"), format, **options)
    return report, [(problem.rule, problem.line) for problem in report.problems]


def line(*spans, length=3):
    tokens = ", ".join(['"w"'] * length)
    found = ", ".join(f'{{"start": {start}, "end": {end}, "type": "X"}}' for start, end in spans)
    return f'{{"tokens": [{tokens}], "entities": [{found}]}}\n'


def test_conllu():
    report, found = checked(f"{CONLLU}\n", "conllu")
    assert found == []
    assert report.summary() == {
        "sentences": 1,
        "words": 3,
        "longest sentence": 3,
        "entities": 4,
        "nested entities": 3,
        "deepest nesting": 1,
        "type labels": 3,
    }
    assert report.labels == {"type": {"time": 2, "place": 1, "person": 1}}


def test_problems_of_conllu():
    broken = CONLLU.replace("(2-place)", "2)").replace("1)(4-time)", "_")
    report, found = checked(f"{CONLLU}\n{broken}\n{CONLLU}x\n\n{CONLLU}", "conllu")
    assert found == [
        ("entity", 8),
        ("entity", 9),
        ("entity", 7),
        ("column-count", 15),
        ("last-blank-line", 20),
    ]
    assert (report.sentences, report.problem_count, report.repair_count) == (2, 4, 1)


def test_conllu_without_entities():
    _, found = checked("1\tw" + "\t_" * 8 + "\n\n", "conllu")
    assert found == [("entities", 1)]


def test_columns():
    text = "a\tB-X\tO\t\nb\tI-X\tB-Y\t\n\nc\tB-X\tI-X\t\n\nd\n\ne\tB-X\tO\nf\tI-X\tB-X\ng\tO\tI-X\n\n"
    report, found = checked(text, "columns")
    assert found == [("label", 4), ("entities", 6), ("crossing", 9)]
    assert (report.sentences, report.words, report.longest_line) == (1, 2, 1)
    assert report.labels == {"type": {"X": 1, "Y": 1}}


def test_json_lines():
    text = line((0, 3), (0, 2), (1, 2)) + line((0, 2), (1, 3)) + line((0, 4)) + '{"tokens": ["a"]}\n' + line()
    report, found = checked(text, "jsonl")
    assert found == [("crossing", 2), ("json", 3), ("entities", 4)]
    assert report.summary() == {
        "sentences": 2,
        "words": 6,
        "longest sentence": 3,
        "entities": 3,
        "nested entities": 2,
        "deepest nesting": 2,
        "type labels": 1,
    }
    assert str(report.problems[0]).startswith("a.txt:2: the entity 'X' of words 2 to 3 crosses")
    assert all(problem.remedy for problem in report.problems)


@pytest.mark.parametrize("format", ["conllu", "columns", "jsonl"])
def test_an_empty_file(format):
    _, found = checked("", format)
    assert found == [("empty-file", None)]
