"""The share of words with the right tag."""

from __future__ import annotations

from collections.abc import Sequence


class Accuracy:
    """Counts right tags.

    Examples:
        >>> accuracy = Accuracy()
        >>> accuracy.update(gold=["DET", "NOUN"], predicted=["DET", "VERB"])
        >>> accuracy.result()
        {'accuracy': 50.0}
    """

    def __init__(self) -> None:
        self.words = 0
        self.right = 0

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Adds one sentence.

        Raises:
            ValueError: The sentences have different lengths.
        """
        self.right += sum(a == b for a, b in zip(gold, predicted, strict=True))
        self.words += len(gold)

    def result(self) -> dict[str, float]:
        """Per cent of all words so far; 0 if there were none."""
        return {"accuracy": 100 * self.right / self.words if self.words else 0.0}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """No tables."""
        return {}
