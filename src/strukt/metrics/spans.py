"""F1 of labelled spans, by the rules of conlleval and of seqeval's default mode."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.metrics.counts import LabelCounts, precision_recall_f1, require_same_length

Span = tuple[str, int, int]
"""Label, first position and last position, inclusive."""

_OTHER_MARKS = {"L": "E", "U": "S", "M": "I"}
"""Marks of BILOU and BMES, each with its equivalent in BIOES."""


def spans(tags: Sequence[str]) -> list[Span]:
    """Return the spans of a tag sequence in IOB1, IOB2, IOE, IOBES, BILOU or BMES; invalid sequences are accepted.

    A tag consists of a mark (its first character) and a label after the `-`. A span begins at `B` or `S`, at any
    mark after `O`, `E` or `S`, and at any change of label. It ends at `E` or `S`, and before the next span begins.
    `L`, `U` and `M` are other names of `E`, `S` and `I`; seqeval's default mode does not support them.

    Complexity: O(n).
    Source: `conlleval` of CoNLL 2000, as `seqeval.metrics.sequence_labeling.get_entities`.

    Examples:
        >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
        [('PER', 0, 1), ('LOC', 3, 3)]
    """
    result: list[Span] = []
    begin = 0
    last_mark, last_label = "O", ""
    for position, tag in enumerate([*tags, "O"]):
        mark, label = tag[0], tag[1:].split("-", 1)[-1] or "_"
        if tag[1:2] in ("", "-"):
            mark = _OTHER_MARKS.get(mark, mark)
        if _ends(last_mark, last_label, mark, label):
            result.append((last_label, begin, position - 1))
        if _begins(last_mark, last_label, mark, label):
            begin = position
        last_mark, last_label = mark, label
    return result


class SpanF1(LabelCounts):
    """F1 of spans: counts spans with the right label and the right borders.

    Examples:
        >>> score = SpanF1()
        >>> score.update(gold=["B-PER", "I-PER", "O"], predicted=["B-PER", "O", "B-LOC"])
        >>> score.result()
        {'precision': 0.0, 'recall': 0.0, 'f1': 0.0}
    """

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Add the tags of one sentence.

        Raises:
            ValueError: If the sentences differ in length.
        """
        require_same_length(gold, predicted, "tags")
        gold_spans, predicted_spans = set(spans(gold)), set(spans(predicted))
        self.gold.update(label for label, _, _ in gold_spans)
        self.predicted.update(label for label, _, _ in predicted_spans)
        self.right.update(label for label, _, _ in gold_spans & predicted_spans)

    def result(self) -> dict[str, float]:
        """Return precision, recall and F1 of all spans so far, in per cent; 0 for a denominator of 0."""
        return precision_recall_f1(*self.of_all())

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return, under "label", precision, recall and F1 of each label, in alphabetical order."""
        return {"label": {label: precision_recall_f1(*self.of_label(label)) for label in self.labels}}


def _ends(last_mark: str, last_label: str, mark: str, label: str) -> bool:
    if last_mark in ("E", "S") or (last_mark in ("B", "I") and mark in ("B", "S", "O")):
        return True
    return last_mark not in ("O", ".") and last_label != label


def _begins(last_mark: str, last_label: str, mark: str, label: str) -> bool:
    if mark in ("B", "S") or (last_mark in ("E", "S", "O") and mark in ("E", "I")):
        return True
    return mark not in ("O", ".") and last_label != label
