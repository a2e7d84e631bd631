"""Classification accuracy, overall and by class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


class ClassAccuracy:
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

    def __init__(self) -> None:
        self.gold: Counter[str] = Counter()
        self.predicted: Counter[str] = Counter()
        self.right: Counter[str] = Counter()

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Add the classes of several items.

        Raises:
            ValueError: If `gold` and `predicted` differ in length.
        """
        self.right.update(a for a, b in zip(gold, predicted, strict=True) if a == b)
        self.gold.update(gold)
        self.predicted.update(predicted)

    def result(self) -> dict[str, float]:
        """Return the accuracy over all items so far, in per cent; 0 without items."""
        return {"accuracy": _percent(self.right.total(), self.gold.total())}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return, under "class", accuracy (recall), precision and the number of gold items of each class."""
        rows: dict[str, dict[str, float]] = {
            label: {
                "accuracy": _percent(self.right[label], self.gold[label]),
                "precision": _percent(self.right[label], self.predicted[label]),
                "gold": self.gold[label],
            }
            for label in sorted(self.gold | self.predicted)
        }
        return {"class": rows}


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
