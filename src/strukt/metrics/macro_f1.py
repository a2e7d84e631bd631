"""The share of items with the right class, and the mean over the classes of their F1."""

from __future__ import annotations

from typing_extensions import override

from strukt.metrics.classes import ClassAccuracy


class MacroF1(ClassAccuracy):
    """Counts right classes, all alike for the accuracy, and each class as much as any other for F1.

    Examples:
        >>> score = MacroF1()
        >>> score.update(gold=["2", "2", "2", "3"], predicted=["2", "2", "3", "3"])
        >>> score.result() == {"accuracy": 75.0, "F1": 100 * (4 / 5 + 2 / 3) / 2}
        True
    """

    @override
    def result(self) -> dict[str, float]:
        """In percent; a class that is only predicted counts, too, with F1 0."""
        known = self.gold | self.predicted
        each = [2 * self.right[label] / (self.gold[label] + self.predicted[label]) for label in known]
        return super().result() | {"F1": 100 * sum(each) / len(each) if each else 0.0}
