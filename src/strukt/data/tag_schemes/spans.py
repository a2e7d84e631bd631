"""Spans of tag sequences: BIO and all other schemes, by the rules of conlleval and of seqeval's default mode."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[str, int, int]
"""Label, first position and last position, inclusive."""

_OTHER_MARKS = {"L": "E", "U": "S", "M": "I"}
"""Marks of BILOU and BMES, each with its equivalent in BIOES."""


def spans(tags: Sequence[str]) -> list[Span]:
    """Return the spans of a tag sequence in IOB1, IOB2, IOE, IOBES, BILOU or BMES; invalid sequences are accepted.

    Each span is its label, its first position and its last position; positions are counted from 0.

    A tag consists of a mark (its first character) and a label after the `-`; the label of a mark alone is `_`. A
    span begins at `B` or `S`, at `E` or `I` after `O`, `E` or `S`, and at any change of label. It ends at `E` or
    `S`, before `O`, and before the next span. `L`, `U` and `M` are other names of `E`, `S` and `I`; seqeval's
    default mode does not support them. Other tags are not refused: as in seqeval, NOUN counts as a span with the
    label `OUN`. `sequence_faults` reports them.

    Args:
        tags: The tag of each of n words.

    Raises:
        ValueError: If a tag is empty.

    Complexity: O(n).

    Source: `conlleval` of CoNLL 2000, as `seqeval.metrics.sequence_labeling.get_entities`.

    Examples:
        >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
        [('PER', 0, 1), ('LOC', 3, 3)]
    """
    if "" in tags:
        raise ValueError(f"tags: the tag at position {list(tags).index('')} is empty; write O outside all spans")
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


def _ends(last_mark: str, last_label: str, mark: str, label: str) -> bool:
    """Return True if a span ends before a tag, which follows the last one; see `spans`."""
    if last_mark in ("E", "S") or (last_mark in ("B", "I") and mark in ("B", "S", "O")):
        return True
    return last_mark not in ("O", ".") and last_label != label


def _begins(last_mark: str, last_label: str, mark: str, label: str) -> bool:
    """Return True if a span begins at a tag, which follows the last one; see `spans`."""
    if mark in ("B", "S") or (last_mark in ("E", "S", "O") and mark in ("E", "I")):
        return True
    return mark not in ("O", ".") and last_label != label
