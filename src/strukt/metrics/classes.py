"""Classification accuracy, overall and by class, and macro-averaged F1."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from strukt.metrics.counts import LabelCounts, flat, percent, require_same_length


class ClassAccuracy(LabelCounts):
    """Classification accuracy: counts items with the right class, overall and by class.

    Examples:
        >>> accuracy = ClassAccuracy()
        >>> accuracy.update(gold=["neutral"], predicted=["neutral"])
        >>> accuracy.update(gold=["entailment"], predicted=["neutral"])
        >>> accuracy.result()
        {'accuracy': 50.0}
        >>> accuracy.details()["class"]["neutral"]
        {'accuracy': 100.0, 'precision': 50.0, 'gold': 1}
    """

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Add the classes of several items.

        Args:
            gold: The right class of each item: strings, or numbers, also in a tensor.
            predicted: The predicted class of each item, in the same form.

        Raises:
            ValueError: If the numbers of classes differ, or if an argument is a string, a single number or has
                more than one axis.
        """
        gold, predicted = flat("gold", gold, "classes"), flat("predicted", predicted, "classes")
        require_same_length(gold, predicted, "classes", "item")
        self.right.update(a for a, b in zip(gold, predicted, strict=True) if a == b)
        self.gold.update(gold)
        self.predicted.update(predicted)

    def result(self) -> dict[str, float]:
        """Return the accuracy over all items so far, in per cent; 0 without items."""
        return {"accuracy": percent(self.right.total(), self.gold.total())}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return, under "class", accuracy (recall), precision and the number of gold items of each class."""
        rows: dict[str, dict[str, float]] = {
            label: {
                "accuracy": percent(self.right[label], self.gold[label]),
                "precision": percent(self.right[label], self.predicted[label]),
                "gold": self.gold[label],
            }
            for label in self.labels
        }
        return {"class": rows}


class MacroF1(ClassAccuracy):
    """Accuracy and macro-averaged F1: the mean over classes of the F1 of each class.

    Examples:
        >>> score = MacroF1()
        >>> score.update(gold=["2", "2", "2", "3"], predicted=["2", "2", "3", "3"])
        >>> score.result() == {"accuracy": 75.0, "F1": 100 * (4 / 5 + 2 / 3) / 2}
        True
    """

    @override
    def result(self) -> dict[str, float]:
        """Return accuracy and macro F1 in per cent; a class that is only predicted counts with an F1 of 0."""
        each = [2 * self.right[label] / (self.gold[label] + self.predicted[label]) for label in self.labels]
        return super().result() | {"F1": percent(sum(each), len(each))}
