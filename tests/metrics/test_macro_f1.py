"""Macro F1 against scikit-learn's definition, written out."""

import random

from strukt.metrics.macro_f1 import MacroF1


def f1(gold, predicted, label):
    both = sum(a == b == label for a, b in zip(gold, predicted, strict=True))
    precision = both / max(predicted.count(label), 1)
    recall = both / max(gold.count(label), 1)
    return 2 * precision * recall / (precision + recall) if both else 0.0


def test_the_mean_over_classes():
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


def test_nothing_was_counted():
    assert MacroF1().result() == {"accuracy": 0.0, "F1": 0.0}
