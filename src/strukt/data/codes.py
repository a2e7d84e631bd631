"""What binary codes mean: the labels of the spans that had them, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


class CodeVocabulary:
    """A code means the label that most often had it; it never changes.

    A code that was never counted means what the nearest one means, by the number of bits that differ; of equally
    near ones the one counted more often, then the smaller one. Of labels counted equally often the first one in
    alphabetical order is meant.

    Source: Wang et al. (2024), "To be continuous, or to be discrete, those are bits of questions", section 3.5.

    Args:
        counts: For each code how often it stood for each label.

    Attributes:
        counts: The same, in the order of codes and labels.

    Raises:
        ValueError: A code is negative, a count is not positive, or a code has no label.

    Examples:
        >>> codes = CodeVocabulary.count([(0b00, "NP"), (0b00, "NP"), (0b00, "VP"), (0b11, "VP")])
        >>> codes.label(0b00), codes.label(0b11), codes.label(0b01)
        ('NP', 'VP', 'NP')
        >>> codes.unseen([0b00, 0b01])
        0.5
    """

    def __init__(self, counts: Mapping[int, Mapping[str, int]]) -> None:
        for code, labels in counts.items():
            if code < 0:
                raise ValueError(f"{code} is no code; expected 0 or more, bit b counting 2^b")
            if not labels or min(labels.values()) < 1:
                raise ValueError(
                    f"code {code} has counts {dict(labels)}; expected labels with counts of 1 or more"
                )
        self.counts: dict[int, dict[str, int]] = {
            code: dict(sorted(labels.items())) for code, labels in sorted(counts.items())
        }
        self._labels = {code: max(labels, key=labels.__getitem__) for code, labels in self.counts.items()}
        self._totals = {code: sum(labels.values()) for code, labels in self.counts.items()}

    @classmethod
    def count(cls, pairs: Iterable[tuple[int, str]]) -> CodeVocabulary:
        """The vocabulary of spans, each with its code and its label."""
        counts: dict[int, Counter[str]] = {}
        for code, label in pairs:
            counts.setdefault(code, Counter())[label] += 1
        return cls(counts)

    @property
    def codes(self) -> tuple[int, ...]:
        """All codes that were counted, in order."""
        return tuple(self.counts)

    def label(self, code: int) -> str:
        """What a code means.

        Raises:
            KeyError: No code was ever counted.

        Complexity:
            Constant time, and for a code that was never counted time linear in the number of codes.
        """
        if code in self._labels:
            return self._labels[code]
        if not self._labels:
            raise KeyError(f"code {code} means nothing: the vocabulary is empty")
        return self._labels[min(self._labels, key=lambda seen: self._distance(code, seen))]

    def unseen(self, codes: Iterable[int]) -> float:
        """The share of codes that were never counted, whose labels are therefore guesses; 0 if there are none."""
        known = [code in self._labels for code in codes]
        return known.count(False) / max(1, len(known))

    def to_json(self) -> dict[str, dict[str, int]]:
        """What `json.dump` may write."""
        return {str(code): dict(labels) for code, labels in self.counts.items()}

    @classmethod
    def from_json(cls, value: Any) -> CodeVocabulary:
        """The vocabulary that `to_json` gave.

        Raises:
            ValueError: The value is no object of codes, each with an object of labels and counts.
        """
        if not isinstance(value, dict):
            raise ValueError(
                f"a vocabulary of codes is an object with the counts of each code, got {type(value).__name__}"
            )
        return cls({_code(key): _label_counts(key, labels) for key, labels in value.items()})

    def __len__(self) -> int:
        return len(self.counts)

    def __contains__(self, code: object) -> bool:
        return code in self.counts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeVocabulary) and self.counts == other.counts

    def __hash__(self) -> int:
        return hash(tuple((code, tuple(labels.items())) for code, labels in self.counts.items()))

    def __repr__(self) -> str:
        return f"CodeVocabulary({len(self)} codes of {len(set(self._labels.values()))} labels)"

    def _distance(self, code: int, seen: int) -> tuple[int, int, int]:
        return (code ^ seen).bit_count(), -self._totals[seen], seen


def _code(key: Any) -> int:
    """The code that a key of a JSON object names.

    Raises:
        ValueError: It is not written as `to_json` writes it, so that two keys might name the same code.
    """
    if not isinstance(key, str) or not key.isdecimal() or str(int(key)) != key:
        raise ValueError(f"{key!r} is no code; expected a decimal number without sign or zeros in front")
    return int(key)


def _label_counts(key: str, value: Any) -> dict[str, int]:
    """The counts of the labels of one code.

    Raises:
        ValueError: They are none.
    """
    if not isinstance(value, dict) or not all(
        isinstance(label, str) and type(count) is int for label, count in value.items()
    ):
        raise ValueError(f"code {key} has {value!r}; expected an object with a whole number for each label")
    return value
