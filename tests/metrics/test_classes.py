"""Accuracy by class, beside a count by hand."""

import random

import pytest

from strukt.metrics.classes import ClassAccuracy


def test_each_class_is_counted():
    generator = random.Random(0)
    gold, predicted = (generator.choices("abc", k=200) for _ in range(2))
    accuracy = ClassAccuracy()
    for start in range(0, 200, 40):
        accuracy.update(gold[start : start + 40], predicted[start : start + 40])
    both = list(zip(gold, predicted, strict=True))
    assert accuracy.result() == {"accuracy": pytest.approx(sum(a == b for a, b in both) / 2)}
    for label, row in accuracy.details()["class"].items():
        of_gold = [b == label for a, b in both if a == label]
        of_predicted = [a == label for a, b in both if b == label]
        assert row["accuracy"] == pytest.approx(100 * sum(of_gold) / len(of_gold))
        assert row["precision"] == pytest.approx(100 * sum(of_predicted) / len(of_predicted))
        assert row["gold"] == len(of_gold)


def test_nothing_and_classes_that_are_never_right():
    accuracy = ClassAccuracy()
    assert accuracy.result() == {"accuracy": 0.0}
    assert accuracy.details() == {"class": {}}
    accuracy.update(["a"], ["b"])
    assert accuracy.details()["class"] == {
        "a": {"accuracy": 0.0, "precision": 0.0, "gold": 1},
        "b": {"accuracy": 0.0, "precision": 0.0, "gold": 0},
    }
    with pytest.raises(ValueError, match="shorter"):
        accuracy.update(["a"], [])
