"""Checking bracket files and the trees of CoNLL-U."""

from hypothesis import given
from tests.data.sources import stream
from tests.fuzz.grammars import attempt, mutated, mutations

from strukt.data import brackets
from strukt.data.check import check

TREES = """\
(ROOT (S-A (NP-SBJ (-NONE- *)) (VP (VB Go) (PP=1 (IN on)))))
(ROOT (X (UH Oh)))

( (NP (NP (DT a) (JJ b)) (NN c)))
"""


def checked(text, format="brackets"):
    report = check("constituency", stream(text, "a.ptb"), format)
    return report, [(problem.rule, problem.line) for problem in report.problems]


def test_what_is_in_a_file():
    report, found = checked(TREES)
    assert found == []
    assert report.summary() == {
        "sentences": 3,
        "words": 6,
        "longest sentence": 3,
        "trees": 3,
        "constituents": 9,
        "traces": 1,
        "constituent labels": 7,
        "tag labels": 6,
    }
    assert report.longest_line == 4
    assert report.labels["constituent"] == {
        "ROOT": 2, "S": 1, "NP": 2, "VP": 1, "PP": 1, "X": 1, "(none)": 1
    }  # fmt: skip
    assert report.labels["tag"] == {"VB": 1, "IN": 1, "UH": 1, "DT": 1, "JJ": 1, "NN": 1}


def test_what_holds_traces_alone_is_not_counted():
    report, _ = checked("(S (SBAR-X (-NONE- 0) (NP-SBJ (-NONE- *))) (VP (VB Go) (NP (-NONE- *))))\n")
    assert (report.labels["constituent"], report.labels["tag"]) == ({"S": 1, "VP": 1}, {"VB": 1})
    assert (report.summary()["constituents"], report.summary()["traces"]) == (2, 3)


def test_all_problems_with_their_lines():
    text = (
        "(ROOT (NN a)\n"  # not closed
        "(ROOT (NN b))\n"
        "(ROOT\n  (NN c d))\n"  # two words, in the second line
        "\n\n"  # a blank line too many
        "plain text\n"
        "(ROOT (NN e)) (ROOT (NN f))\n"
        "(ROOT (-NONE- *))\n"
        "(ROOT (NN g)))\n"
        "(ROOT (NP))\n"
        "(ROOT (NN h))\n"
    )
    report, found = checked(text)
    assert found == [
        ("unbalanced", 1),
        ("leaf", 4),
        ("blank-line", 6),
        ("no-tree", 7),
        ("second-tree", 8),
        ("no-words", 9),
        ("unbalanced", 10),
        ("leaf", 11),
    ]
    assert (report.problem_count, report.repair_count) == (7, 1)
    assert (report.sentences, report.words) == (2, 2)
    assert all(str(problem).startswith("a.ptb:") and problem.remedy for problem in report.problems)


def row(identifier, form):
    return f"{identifier}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n"


def test_trees_in_conllu():
    text = (
        "# constituency = (ROOT (S (NN a) (NP (NN b))))\n" + row(1, "a") + row(2, "b") + "\n"
        "# text = c\n" + row(1, "c") + "\n"
        "# text = d\n# constituency = (ROOT (NN x))\n" + row(1, "d") + "\n"
        "# constituency = (ROOT\n" + row(1, "e") + "\n"
        "# constituency = (ROOT (NN f))\n# constituency = (S (NN f))\n" + row(1, "f") + "\n"
        "# constituency = (ROOT (NN g))\n" + row(2, "g") + "\n"
    )  # fmt: skip
    report, found = checked(text, "conllu")
    assert found == [
        ("no-tree", 5),
        ("tree-words", 9),
        ("unbalanced", 12),
        ("second-tree", 16),
        ("id", 20),
    ]
    assert report.summary()["trees"] == report.sentences == 1
    assert report.labels["constituent"] == {"ROOT": 1, "S": 1, "NP": 1}
    assert report.labels["tag"] == {"NN": 2}


@given(mutations)
def test_check_agrees_with_reading(changes):
    content = mutated(TREES.encode() * 2, changes)
    report = check("constituency", stream(content, "a.ptb"), "brackets")
    sentences, error = attempt(lambda: list(brackets.read(stream(content, "a.ptb"))))
    if error is None:
        assert report.problem_count == 0
        assert report.sentences == len(sentences)
    else:
        first = next(problem for problem in report.problems if not problem.repaired)
        assert str(first) == str(error)
