"""A table of precision, recall and F1 of spans by label, like the classification report of seqeval."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.metrics.counts import require_tags
from strukt.metrics.span_f1 import SpanF1
from strukt.viz.canvas.width import display_width, pad

SCORES = ("precision", "recall", "f1")


def report(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> str:
    """Return a table of precision, recall and F1 of the spans of tagged sentences by label, in per cent.

    The averages follow seqeval: over all spans (micro), over labels (macro), and over labels weighted by their
    number of gold spans (weighted).

    Args:
        gold: The tags of each sentence, such as `B-PER`; see `strukt.data.tag_schemes.spans.spans`.
        predicted: The predicted tags of each sentence.

    Returns:
        A table without a final newline, or "no spans". The column `gold` is the number of gold spans.

    Raises:
        ValueError: If `gold` and `predicted` differ in the number of sentences, or in the length of a sentence; if
            a sentence is not a sequence of tags; or if a tag is empty or not a string.

    Examples:
        >>> print(report([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "B-LOC", "O"]]))
        in per cent  precision  recall     f1  gold
        LOC               0.00    0.00   0.00     1
        PER             100.00  100.00 100.00     1
        micro            50.00   50.00  50.00     2
        macro            50.00   50.00  50.00     2
        weighted         50.00   50.00  50.00     2
    """
    if len(gold) != len(predicted):
        raise ValueError(
            f"gold has {len(gold)} sentences, predicted {len(predicted)}; expected the same sentences"
        )
    counts = SpanF1()
    for number, (expected, actual) in enumerate(zip(gold, predicted, strict=True)):
        require_tags(f"gold[{number}]", expected)
        require_tags(f"predicted[{number}]", actual)
        if len(expected) != len(actual):
            raise ValueError(
                f"gold[{number}] has {len(expected)} tags, predicted[{number}] {len(actual)}; "
                "expected one for each word"
            )
        counts.update(expected, actual)
    by_label = counts.details()["label"]
    if not by_label:
        return "no spans"
    total = counts.gold.total()
    rows = [(label, scores, counts.gold[label]) for label, scores in by_label.items()]
    rows.append(("micro", counts.result(), total))
    rows.append(("macro", _mean(by_label, dict.fromkeys(by_label, 1)), total))
    rows.append(("weighted", _mean(by_label, counts.gold), total))
    width = max(display_width(name) for name in ["in per cent", *by_label])
    head = pad("in per cent", width) + "  precision  recall     f1  gold"
    return "\n".join([head, *(_line(pad(name, width), scores, count) for name, scores, count in rows)])


def _mean(scores: dict[str, dict[str, float]], weights: dict[str, int]) -> dict[str, float]:
    """Return the mean of each score over labels, weighted by ``weights``; 0 if all weights are 0."""
    whole = sum(weights[label] for label in scores)
    return {
        name: sum(weights[label] * each[name] for label, each in scores.items()) / whole if whole else 0.0
        for name in SCORES
    }


def _line(name: str, scores: dict[str, float], count: int) -> str:
    precision, recall, f1 = (f"{scores[each]:.2f}" for each in SCORES)
    return f"{name}  {precision:>9}  {recall:>6} {f1:>6}  {count:>4}"
