"""Scores from counts, in per cent: shares, and precision, recall and F1, which several metrics report by label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Sized


def percent(part: float, whole: float) -> float:
    """Return a part of a whole in per cent; 0 if the whole is 0.

    Examples:
        >>> percent(1, 4), percent(0, 0)
        (25.0, 0.0)
    """
    return 100 * part / whole if whole else 0.0


def require_same_length(gold: Sized, predicted: Sized, values: str, unit: str = "word") -> None:
    """Check that there are as many predicted values as gold ones, before any of them is counted.

    Raises:
        ValueError: If their numbers differ.

    Examples:
        >>> require_same_length(["DET"], [], "tags")
        Traceback (most recent call last):
        ValueError: gold has 1 tags, predicted 0; expected one for each word
    """
    if len(gold) != len(predicted):
        raise ValueError(
            f"gold has {len(gold)} {values}, predicted {len(predicted)}; expected one for each {unit}"
        )


def require_labels(gold: Sequence[str], predicted: Sequence[str], values: str, unit: str = "word") -> None:
    """Check that there are as many predicted labels as gold ones, and that they are not nested.

    Raises:
        ValueError: If their numbers differ, or one of the two is a string, or holds lists.

    Examples:
        >>> require_labels([["DET", "NOUN"]], [["DET", "VERB"]], "tags")
        Traceback (most recent call last):
        ValueError: gold[0] is a list; expected tags as strings, so call update once for each sentence
    """
    for name, labels in (("gold", gold), ("predicted", predicted)):
        if isinstance(labels, str):
            raise ValueError(f"{name} is the str {labels!r}; expected a list of {values}")
        for place, label in enumerate(labels):
            if isinstance(label, (list, tuple)):
                raise ValueError(
                    f"{name}[{place}] is a {type(label).__name__}; expected {values} as strings, so call update "
                    f"once for each sentence"
                )
    require_same_length(gold, predicted, values, unit)


def precision_recall_f1(gold: int, predicted: int, right: int) -> dict[str, float]:
    """Return precision, recall and F1 in per cent from the numbers of gold, predicted and correct items.

    Examples:
        >>> precision_recall_f1(gold=4, predicted=1, right=1)
        {'precision': 100.0, 'recall': 25.0, 'f1': 40.0}
    """
    return {
        "precision": percent(right, predicted),
        "recall": percent(right, gold),
        "f1": percent(2 * right, gold + predicted),
    }


class LabelCounts:
    """The numbers of gold, predicted and correct items of each label."""

    def __init__(self) -> None:
        self.gold: Counter[str] = Counter()
        self.predicted: Counter[str] = Counter()
        self.right: Counter[str] = Counter()

    @property
    def labels(self) -> list[str]:
        """The labels of gold and predicted items, in alphabetical order."""
        return sorted(self.gold.keys() | self.predicted.keys())

    def of_label(self, label: str) -> tuple[int, int, int]:
        """Return the numbers of gold, predicted and correct items of a label."""
        return self.gold[label], self.predicted[label], self.right[label]

    def of_all(self) -> tuple[int, int, int]:
        """Return the numbers of gold, predicted and correct items of all labels."""
        return self.gold.total(), self.predicted.total(), self.right.total()
