"""Unlabelled F1 of induced trees."""

import random

import pytest

from strukt.data.constituents import Tree
from strukt.metrics.unlabelled_f1 import UnlabelledF1, binary, uninformed

GOLD = Tree.parse("(S (NP (D the) (N cat)) (VP (V sees) (NP (D a) (N dog))) (. .))")


def of(*pairs):
    score = UnlabelledF1()
    for gold, predicted in pairs:
        score.update(gold, predicted)
    return score.result()["f1"]


def test_a_tree_is_right_whatever_its_labels_and_its_punctuation():
    other = Tree.parse("(A (A (A (A the) (A cat)) (A (A sees) (A (A a) (A dog)))) (A .))")
    assert of((GOLD, GOLD)) == of((GOLD, other)) == 100


def test_spans_that_every_tree_has_do_not_count():
    flat = Tree.parse("(A (A the) (A cat) (A sees) (A a) (A dog) (A .))")
    assert of((GOLD, flat)) == 0
    assert of((flat, flat)) == 100
    assert of((flat, GOLD)) == 0


def test_sentences_count_alike():
    left = Tree.parse("(A (A (A (A (A (A the) (A cat)) (A sees)) (A a)) (A dog)) (. .))")
    short = Tree.parse("(S (A a) (B b))")
    assert of((GOLD, left), (short, short)) == pytest.approx((100 / 3 + 100) / 2)


def test_a_word_alone_is_skipped():
    one = Tree.parse("(S (A a) (. .))")
    assert of((one, one)) == 0
    assert of((one, one), (GOLD, GOLD)) == 100


def test_words_must_be_the_same():
    with pytest.raises(ValueError, match="the trees have different words"):
        of((GOLD, Tree.parse("(S (A a) (B b))")))


def test_a_binary_tree_is_cut_where_it_is_told():
    words, chance = ["a", "b", "c", "d"], random.Random(0)
    left, right = (
        Tree.parse(text)
        for text in ("(X (X (X (X a) (X b)) (X c)) (X d))", "(X (X a) (X (X b) (X (X c) (X d))))")
    )
    assert binary(words, lambda n: n - 1) == left
    assert binary(words, lambda n: 1) == right
    drawn = {str(binary(words, lambda n: chance.randrange(1, n))) for _ in range(100)}
    assert len(drawn) == 5
    assert len(binary(["a"] * 3000, lambda n: n - 1).constituents) == 2999


def test_trees_that_know_nothing_have_no_punctuation():
    tree = Tree.parse("(S (D the) (, ,) (X (N cat) (-NONE- *) (V sees)) (. .))")
    found = uninformed([tree, Tree.parse("(S (. .))")] * 50)
    assert found["left-branching"] == {"f1": 0.0}
    assert found["right-branching"] == {"f1": 100.0}
    assert 20 < found["random"]["f1"] < 80
