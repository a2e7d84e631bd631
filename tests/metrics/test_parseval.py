"""Parseval by hand-computed counts, by EVALB's rules one by one, and against a naive reading of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.constituents.random_trees import trees

from strukt.data.constituents import Tree
from strukt.metrics.parseval import Parseval

GOLD = "(S (NP (PRP this)) (VP (VBZ is) (NP (DT a) (NN test))))"


def scored(*pairs):
    score = Parseval()
    for gold, predicted in pairs:
        score.update(Tree.parse(gold), Tree.parse(predicted))
    return score


def counts(gold, predicted):
    """Right, gold and predicted brackets, right tags and words of one sentence."""
    score = scored((gold, predicted))
    return score.right.total(), score.gold.total(), score.predicted.total(), score.right_tags, score.words


# The pairs are like those of the sample that comes with EVALB; so are their numbers.
SAMPLE = [
    (GOLD, (4, 4, 4, 4, 4)),
    ("(S (NP (PRP this)) (VP (VBZ is) (PP (DT a) (NN test))))", (3, 4, 4, 4, 4)),
    ("(S (NP (PRP this)) (VP (VBZ is) (NP (DT a) (JJ test))))", (4, 4, 4, 3, 4)),
    ("(S (PP (PRP this)) (VP (VBZ is) (NP (DT a) (JJ test))))", (3, 4, 4, 3, 4)),
    ("(S (NP (PRP this)) (VP (VBZ is) (DT a) (NP (NN test))))", (3, 4, 4, 4, 4)),
    ("(S (NP (PRP this) (VBZ is)) (NP (DT a) (NN test)))", (2, 4, 3, 4, 4)),
    ("(S (PRP this) (VBZ is) (DT a) (NN test))", (1, 4, 1, 4, 4)),
    ("( (PRP this) (VBZ is) (DT a) (NN test))", (0, 4, 0, 4, 4)),
    ("(S (NP (PRP this)) (VP (VBZ is) (NP (NP (DT a) (NN test)))))", (4, 4, 5, 4, 4)),
    ("(S (NP (PRP this)) (VP (VBZ is) (NP (NP (NP (NP (NP (DT a) (NN test))))))))", (4, 4, 8, 4, 4)),
    (f"(TOP {GOLD})", (4, 4, 4, 4, 4)),
    (GOLD.replace("(NP (PRP", "(NP-SBJ-1 (PRP").replace("(VP", "(VP=2"), (4, 4, 4, 4, 4)),
    (GOLD.replace("(VBZ is)", "(VBZ is) (S (-NONE- 0) (NP (-NONE- *)))"), (4, 4, 4, 4, 4)),
]


@pytest.mark.parametrize(("predicted", "expected"), SAMPLE)
def test_counts_of_one_sentence(predicted, expected):
    assert counts(GOLD, predicted) == expected
    right, gold, wrong, right_tags, words = counts(predicted, GOLD)
    assert (right, wrong, gold, right_tags, words) == expected, "gold and predicted change places"


def test_the_summary_is_what_evalb_prints_for_its_sample():
    clauses = " ".join([GOLD[3:-1]] * 11)
    score = scored(
        *((GOLD, predicted) for predicted, _ in SAMPLE),
        (f"(S {clauses})", f"(S {clauses})"),
        *[(f"{GOLD[:-1]} (: -))", f"{GOLD[:-1]} (: -))")] * 3,
    )
    assert (score.right.total(), score.gold.total(), score.predicted.total()) == (86, 98, 95)
    assert {name: round(value, 2) for name, value in score.result().items()} == {
        "precision": 90.53,
        "recall": 87.76,
        "f1": 89.12,
        "exact": 52.94,
        "tagging": 98.15,
    }


@pytest.mark.parametrize("top", ["TOP", "ROOT", "S1", ""])
def test_brackets_labelled_as_a_top_count_nowhere(top):
    assert counts(f"({top} {GOLD})", GOLD) == (4, 4, 4, 4, 4)
    assert counts(f"({top} (NN a))", "(NP (NN a))") == (0, 0, 1, 1, 1)
    if top:
        assert counts(f"(S (NP ({top} (NN a) (NN b))))", "(S (NP (NN a) (NN b)))") == (2, 2, 2, 2, 2)


@pytest.mark.parametrize("tag", [",", ":", "``", "''", "."])
def test_punctuation_is_deleted_with_what_holds_nothing_else(tag):
    gold = f"(S (NP (NN a) ({tag} x)) (PRN ({tag} y)) (VP (VB b)) ({tag} z))"
    assert counts(gold, f"(S (NP (NN a)) ({tag} x) ({tag} y) (VP (VB b) ({tag} z)))") == (3, 3, 3, 2, 2)


@pytest.mark.parametrize("tag", ["-LRB-", "HYPH", "$", "?"])
def test_other_marks_are_words(tag):
    assert counts(f"(S (NP (NN a)) ({tag} x))", f"(S (NP (NN a) ({tag} x)))") == (1, 2, 2, 2, 2)


def test_the_gold_tags_say_what_is_punctuation():
    gold, predicted = "(S (NP (NN a) (, x)) (VP (VB b)))", "(S (NP (NN a)) (NN x) (VP (. b)))"
    assert counts(gold, predicted) == (3, 3, 3, 1, 2)
    assert counts(predicted, gold) == (1, 2, 2, 1, 2)


def test_prt_is_advp():
    gold, predicted = "(VP (VB a) (PRT (RP b)) (ADVP (RB c)))", "(VP (VB a) (ADVP (RP b)) (PRT-X (RB c)))"
    assert counts(gold, predicted) == (3, 3, 3, 3, 3)
    assert counts("(PRT (ADVP (RP a)))", "(ADVP (ADVP (RP a)))") == (2, 2, 2, 1, 1)
    assert scored((gold, predicted)).details()["label"].keys() == {"VP", "ADVP"}


def test_the_order_in_a_chain_does_not_count():
    assert scored(("(S (VP (VB Go)))", "(VP (S (VB Go)))")).result()["exact"] == 100


def test_a_corpus():
    score = scored(
        (GOLD, GOLD),
        (GOLD, "(S (NP (PRP this) (VBZ is)) (NP (DT a) (NN test)))"),
        ("(ROOT (FRAG (. !) (. ?)))", "(ROOT (X (NN !)) (NN ?))"),  # skipped: no word is left
        ("(S (NN a) (NP (NN b)) (. .))", "(S (NP (NN a)) (NP (JJ b)) (. .))"),
    )
    # right 4 + 2 + 2, gold 4 + 4 + 2, predicted 4 + 3 + 3; tags right 4 + 4 + 1 of 4 + 4 + 2; one of three exact
    assert score.result() == pytest.approx(
        {"precision": 80.0, "recall": 80.0, "f1": 80.0, "exact": 100 / 3, "tagging": 90.0}
    )
    assert list(score.result()) == ["precision", "recall", "f1", "exact", "tagging"]
    assert score.details() == {
        "label": {
            "NP": pytest.approx({"precision": 400 / 6, "recall": 80.0, "f1": 800 / 11, "gold": 5}),
            "S": {"precision": 100.0, "recall": 100.0, "f1": 100.0, "gold": 3},
            "VP": pytest.approx({"precision": 100.0, "recall": 50.0, "f1": 200 / 3, "gold": 2}),
        }
    }


def test_nothing_yet():
    assert set(Parseval().result().values()) == {0.0}
    assert Parseval().details() == {"label": {}}


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ("(S (NN a) (NN c))", "the trees have different words: word 2 is 'b' in gold and 'c' in predicted"),
        ("(S (NN a))", "the trees have different words: gold has 2 words, predicted 1"),
        ("(S (NN a) (NN b) (. .))", "gold has 2 words, predicted 3"),
    ],
)
def test_different_words(predicted, message):
    score = Parseval()
    with pytest.raises(ValueError, match=message):
        score.update(Tree.parse("(S (NN a) (NN b))"), Tree.parse(predicted))
    assert score.sentences == score.words == 0


def naive(gold, predicted):
    """Right, gold and predicted brackets by the README of EVALB: one after the other is crossed off."""
    gone = {position for position, tag in enumerate(gold.tags) if tag in (",", ":", "``", "''", ".")}

    def brackets(tree):
        for start, end, label in tree.constituents:
            words = tuple(word for word in range(start, end) if word not in gone)
            if label[:1] != "-":
                label = label[:1] + label[1:].split("-")[0].split("=")[0]
            label = "ADVP" if label == "PRT" else label
            if words and label not in ("", "TOP", "ROOT", "S1", ",", ":", "``", "''", "."):
                yield words[0], words[-1], label

    wanted, right = list(brackets(gold)), 0
    found = list(brackets(predicted))
    left = list(wanted)
    for bracket in found:
        if bracket in left:
            left.remove(bracket)
            right += 1
    return right, len(wanted), len(found)


@given(trees(), st.data())
def test_scores_equal_a_naive_reading_of_the_rules(gold, data):
    other = data.draw(trees(longest=len(gold.words)))
    length = len(other.words)
    kept = [(i, j, label) for i, j, label in gold.constituents if j <= length and label]
    first = Tree.build(other.words, gold.tags[:length], kept)
    is_skipped = all(tag in (",", ":", "``", "''", ".") for tag in first.tags)
    score = Parseval()
    score.update(first, other)
    found = score.right.total(), score.gold.total(), score.predicted.total()
    assert found == ((0, 0, 0) if is_skipped else naive(first, other))
    assert score.sentences == 1 - is_skipped
    assert all(0 <= value <= 100 for value in score.result().values())


@given(trees(trace=True))
def test_a_tree_agrees_with_itself(tree):
    score = Parseval()
    score.update(tree, tree)
    assert score.right == score.gold == score.predicted
    assert score.exact == score.sentences
    assert score.right_tags == score.words


def test_a_depth_of_5000():
    text = "(S (X b) " * 5000 + "(NN a)" + ")" * 5000
    assert counts(text, text)[:3] == (5000, 5000, 5000)
