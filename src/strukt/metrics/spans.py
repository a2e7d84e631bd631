"""How well labelled spans agree, by the rules of conlleval as seqeval's default mode has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Span = tuple[str, int, int]
"""Label, first and last position."""

_OTHER_MARKS = {"L": "E", "U": "S", "M": "I"}
"""Those of BILOU and BMES, as BIOES has them."""


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans that a tag sequence stands for; IOB1, IOB2, IOE, IOBES, BILOU and BMES, errors forgiven.

    A tag is a mark (its first character) and a label after the `-`. `B` and `S` begin a span, as does any
    mark after `O`, `E` or `S`, and any change of label; `E` and `S` end one, as does whatever begins the
    next. `L`, `U` and `M` are other names of `E`, `S` and `I`, which seqeval's default mode does not know.

    Complexity: O(n).
    Source: `conlleval` of CoNLL 2000, as `seqeval.metrics.sequence_labeling.get_entities`.

    Examples:
        >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
        [('PER', 0, 1), ('LOC', 3, 3)]
    """
    found: list[Span] = []
    begin = 0
    last_mark, last_label = "O", ""
    for position, tag in enumerate([*tags, "O"]):
        mark, label = tag[0], tag[1:].split("-", 1)[-1] or "_"
        if tag[1:2] in ("", "-"):
            mark = _OTHER_MARKS.get(mark, mark)
        if _ends(last_mark, last_label, mark, label):
            found.append((last_label, begin, position - 1))
        if _begins(last_mark, last_label, mark, label):
            begin = position
        last_mark, last_label = mark, label
    return found


class SpanF1:
    """Counts spans with the right label and both borders right.

    Examples:
        >>> score = SpanF1()
        >>> score.update(gold=["B-PER", "I-PER", "O"], predicted=["B-PER", "O", "B-LOC"])
        >>> score.result()
        {'precision': 0.0, 'recall': 0.0, 'f1': 0.0}
    """

    def __init__(self) -> None:
        self.gold: Counter[str] = Counter()
        self.predicted: Counter[str] = Counter()
        self.right: Counter[str] = Counter()

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Adds the tags of one sentence.

        Raises:
            ValueError: The sentences have different lengths.
        """
        if len(gold) != len(predicted):
            raise ValueError(f"gold has {len(gold)} tags, predicted {len(predicted)}; give one for each word")
        gold_spans, predicted_spans = set(spans(gold)), set(spans(predicted))
        self.gold.update(label for label, _, _ in gold_spans)
        self.predicted.update(label for label, _, _ in predicted_spans)
        self.right.update(label for label, _, _ in gold_spans & predicted_spans)

    def result(self) -> dict[str, float]:
        """Precision, recall and F1 of all spans so far, in per cent; 0 where nothing can be counted."""
        return _scores(self.gold.total(), self.predicted.total(), self.right.total())

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Under "label", the same for each label, in alphabetical order."""
        labels = sorted(self.gold.keys() | self.predicted.keys())
        counts = {label: (self.gold[label], self.predicted[label], self.right[label]) for label in labels}
        return {"label": {label: _scores(*count) for label, count in counts.items()}}


def _ends(last_mark: str, last_label: str, mark: str, label: str) -> bool:
    if last_mark in ("E", "S") or (last_mark in ("B", "I") and mark in ("B", "S", "O")):
        return True
    return last_mark not in ("O", ".") and last_label != label


def _begins(last_mark: str, last_label: str, mark: str, label: str) -> bool:
    if mark in ("B", "S") or (last_mark in ("E", "S", "O") and mark in ("E", "I")):
        return True
    return mark not in ("O", ".") and last_label != label


def _scores(gold: int, predicted: int, right: int) -> dict[str, float]:
    return {
        "precision": 100 * right / predicted if predicted else 0.0,
        "recall": 100 * right / gold if gold else 0.0,
        "f1": 200 * right / (gold + predicted) if gold + predicted else 0.0,
    }
