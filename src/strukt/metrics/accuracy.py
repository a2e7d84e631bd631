"""Tagging accuracy: the share of words with the right tag."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.metrics.counts import flat, percent, require_same_length


class Accuracy:
    """Tagging accuracy: counts words with the right tag.

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
        """Add the tags of one sentence.

        Args:
            gold: The right tag of each word: strings, or numbers, also in a tensor.
            predicted: The predicted tag of each word, in the same form.

        Raises:
            ValueError: If the numbers of tags differ, or if an argument is a string, a single number or a batch of
                sentences.
        """
        gold, predicted = flat("gold", gold, "tags"), flat("predicted", predicted, "tags")
        require_same_length(gold, predicted, "tags")
        self.right += sum(a == b for a, b in zip(gold, predicted, strict=True))
        self.words += len(gold)

    def result(self) -> dict[str, float]:
        """Return the accuracy over all words so far, in per cent; 0 without words."""
        return {"accuracy": percent(self.right, self.words)}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return an empty dictionary: this metric has no tables."""
        return {}
