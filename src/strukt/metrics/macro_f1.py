"""Classification accuracy and macro-averaged F1."""

from __future__ import annotations

from typing_extensions import override

from strukt.metrics.classes import ClassAccuracy


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
        known = self.gold | self.predicted
        each = [2 * self.right[label] / (self.gold[label] + self.predicted[label]) for label in known]
        return super().result() | {"F1": 100 * sum(each) / len(each) if each else 0.0}
