"""F1 of labelled spans, by the rules of conlleval and of seqeval's default mode."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.data.tag_schemes.spans import spans
from strukt.metrics.counts import LabelCounts, precision_recall_f1, require_same_length, require_tags


class SpanF1(LabelCounts):
    """F1 of spans: counts spans with the right label and the right borders.

    The rules are those of `conlleval` and of seqeval's default mode: invalid tag sequences have spans, too.

    Examples:
        >>> score = SpanF1()
        >>> score.update(gold=["B-PER", "I-PER", "O", "B-LOC"], predicted=["B-PER", "O", "O", "I-LOC"])
        >>> score.result()  # of two spans, LOC is right
        {'precision': 50.0, 'recall': 50.0, 'f1': 50.0}
    """

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Add the tags of one sentence, such as `B-PER`; see `strukt.data.tag_schemes.spans.spans`.

        Args:
            gold: The right tag of each word.
            predicted: The predicted tag of each word.

        Raises:
            ValueError: If the sentences differ in length, are not sequences of tags, or a tag is empty or not a
                string.
        """
        require_tags("gold", gold)
        require_tags("predicted", predicted)
        require_same_length(gold, predicted, "tags")
        gold_spans, predicted_spans = set(spans(gold)), set(spans(predicted))
        self.gold.update(label for label, _, _ in gold_spans)
        self.predicted.update(label for label, _, _ in predicted_spans)
        self.right.update(label for label, _, _ in gold_spans & predicted_spans)

    def result(self) -> dict[str, float]:
        """Return precision, recall and F1 of all spans so far, in per cent; 0 for a denominator of 0."""
        return precision_recall_f1(*self.of_all())

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return, under "label", precision, recall, F1 and the number of gold spans by label, from A to Z."""
        return {"label": self.scores_by_label()}
