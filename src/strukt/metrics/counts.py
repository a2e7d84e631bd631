"""Scores from counts, in per cent: shares, and precision, recall and F1, which several metrics report by label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence, Sized
from typing import Any


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


def flat(name: str, labels: Any, values: str) -> Sequence[Any]:
    """Return the labels of one sentence or one list of items; a tensor or an array as a list of numbers.

    Entries of a tensor are hashed by identity, so that equal labels would be counted as different ones.

    Raises:
        ValueError: If the labels are a string or a single number, or themselves sequences, such as a batch of
            sentences.

    Examples:
        >>> flat("gold", [["DET", "NOUN"]], "tags")
        Traceback (most recent call last):
        ValueError: gold holds ['DET', 'NOUN']; expected tags, not sequences of them: call update once for each
    """
    if isinstance(labels, str):
        raise ValueError(f"{name} is the string {labels!r}; expected a list of {values}")
    each: list[Any] = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if not isinstance(each, list):
        raise ValueError(f"{name} is {labels!r}; expected a list of {values}")
    for label in each:
        if isinstance(label, (list, tuple)) or getattr(label, "shape", None):
            raise ValueError(
                f"{name} holds {label!r}; expected {values}, not sequences of them: call update once for each"
            )
    return [label.item() if hasattr(label, "item") else label for label in each]


def require_tags(name: str, tags: Any) -> None:
    """Check that a sentence is a sequence of tags, such as `B-PER`; a single string, for example, is not.

    Raises:
        ValueError: If it is not, or a tag is empty or not a string.
    """
    if isinstance(tags, str) or not isinstance(tags, Collection):
        raise ValueError(f"{name} is {tags!r}; expected the tags of one sentence, such as ['B-PER', 'O']")
    for tag in tags:
        if not isinstance(tag, str) or not tag:
            raise ValueError(f"{name} has the tag {tag!r}; expected tags such as 'B-PER' and 'O'")


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

    def scores_by_label(self) -> dict[str, dict[str, float]]:
        """Return precision, recall, F1 and the number of gold items of each label, in alphabetical order."""
        return {
            label: precision_recall_f1(*self.of_label(label)) | {"gold": float(self.gold[label])}
            for label in self.labels
        }

    def of_all(self) -> tuple[int, int, int]:
        """Return the numbers of gold, predicted and correct items of all labels."""
        return self.gold.total(), self.predicted.total(), self.right.total()
