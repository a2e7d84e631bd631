"""Accuracy by class, beside a count by hand, and macro F1 by scikit-learn's definition, written out."""

import random

import pytest
import torch

from strukt.metrics.classes import ClassAccuracy, MacroF1


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
    assert MacroF1().result() == {"accuracy": 0.0, "F1": 0.0}
    assert accuracy.details() == {"class": {}}
    accuracy.update(["a"], ["b"])
    assert accuracy.details()["class"] == {
        "a": {"accuracy": 0.0, "precision": 0.0, "gold": 1},
        "b": {"accuracy": 0.0, "precision": 0.0, "gold": 0},
    }


def f1(gold, predicted, label):
    both = sum(a == b == label for a, b in zip(gold, predicted, strict=True))
    precision = both / max(predicted.count(label), 1)
    recall = both / max(gold.count(label), 1)
    return 2 * precision * recall / (precision + recall) if both else 0.0


def test_macro_f1_is_the_mean_over_classes():
    generator = random.Random(0)
    score, every_gold, every_predicted = MacroF1(), [], []
    for _ in range(20):
        gold = [generator.choice("2234") for _ in range(7)]
        predicted = [generator.choice("2345") for _ in range(7)]
        score.update(gold, predicted)
        every_gold += gold
        every_predicted += predicted
    expected = sum(f1(every_gold, every_predicted, label) for label in "2345") / 4
    right = sum(a == b for a, b in zip(every_gold, every_predicted, strict=True))
    assert abs(score.result()["F1"] - 100 * expected) < 1e-9
    assert abs(score.result()["accuracy"] - 100 * right / 140) < 1e-9
    assert score.result()["F1"] < score.result()["accuracy"]


@pytest.mark.parametrize("kind", [ClassAccuracy, MacroF1])
def test_items_that_differ_in_number_change_nothing(kind):
    metric = kind()
    with pytest.raises(ValueError, match="gold has 2 classes, predicted 1; expected one for each item"):
        metric.update(["a", "b"], ["a"])
    assert metric.details() == {"class": {}}


@pytest.mark.parametrize("kind", [ClassAccuracy, MacroF1])
def test_classes_may_be_tensors(kind):
    gold, predicted = [2, 2, 2, 3], [2, 2, 3, 3]
    numbers, tensors, scalars = kind(), kind(), kind()
    numbers.update(gold, predicted)
    tensors.update(torch.tensor(gold), torch.tensor(predicted))
    scalars.update(list(torch.tensor(gold)), list(torch.tensor(predicted)))
    assert tensors.result() == scalars.result() == numbers.result()
    assert tensors.details() == scalars.details() == numbers.details()
    with pytest.raises(ValueError, match=r"gold holds \[2, 3\]; expected classes, not sequences of them"):
        kind().update(torch.tensor([[2, 3]]), torch.tensor([[2, 3]]))
