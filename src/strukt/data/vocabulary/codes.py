"""The labels of binary codes, from counts of the labels of spans with each code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from strukt.data.vocabulary.vocabulary import shortened


class CodeVocabulary:
    """An immutable vocabulary of codes: each code stands for the label that it was counted with most often.

    Ties go to the first label in alphabetical order. A code that was never counted stands for the label of the
    nearest counted code, by the number of bits that differ. Of equally near codes, the one counted more often
    wins, then the smaller one.

    Source: Wang and Utiyama (2024), "To be continuous, or to be discrete, those are bits of questions", section
    3.5.

    Args:
        counts: For each code, how often it was seen with each label.

    Attributes:
        counts: A copy of these counts, in ascending order of codes and labels.

    Raises:
        ValueError: If a code is negative, a count is not positive, or a code has no label.

    Examples:
        >>> codes = CodeVocabulary.count([(0b00, "NP"), (0b00, "NP"), (0b00, "VP"), (0b11, "VP")])
        >>> codes.label(0b00), codes.label(0b11), codes.label(0b01)
        ('NP', 'VP', 'NP')
        >>> 0b11 in codes, 0b01 in codes
        (True, False)
    """

    def __init__(self, counts: Mapping[int, Mapping[str, int]]) -> None:
        for code, labels in counts.items():
            if code < 0:
                raise ValueError(f"{code} is not a code; expected 0 or more, bit b counting 2^b")
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
        """Build a vocabulary from pairs of a code and a label, one for each span.

        Raises:
            ValueError: If a code is negative.
        """
        counts: dict[int, Counter[str]] = {}
        for code, label in pairs:
            counts.setdefault(code, Counter())[label] += 1
        return cls(counts)

    @property
    def codes(self) -> tuple[int, ...]:
        """All codes that were counted, in ascending order."""
        return tuple(self.counts)

    def label(self, code: int) -> str:
        """Return the label that a code stands for.

        Raises:
            KeyError: If no code was ever counted.

        Complexity: constant; linear in the number of codes if this code was never counted.
        """
        if code in self._labels:
            return self._labels[code]
        if not self._labels:
            raise KeyError(f"code {code} means nothing: the vocabulary is empty")
        return self._labels[min(self._labels, key=lambda seen: self._distance(code, seen))]

    @property
    def labels(self) -> list[str]:
        """All labels that were counted, the most frequent first; ties are in alphabetical order."""
        totals: Counter[str] = Counter()
        for labels in self.counts.values():
            totals.update(labels)
        return sorted(totals, key=lambda label: (-totals[label], label))

    def distance(self, first: str, second: str) -> float:
        """Return the mean Hamming distance between the codes of two spans, one with each label.

        For equal labels, the two spans are drawn independently; the distance is 0 if the label has a single code.

        Raises:
            KeyError: If a label was never counted.

        Complexity: O(c b) for c codes of b bits.

        Examples:
            >>> codes = CodeVocabulary.count([(0b00, "NP"), (0b01, "NP"), (0b11, "VP")])
            >>> codes.distance("NP", "VP"), codes.distance("NP", "NP")
            (1.5, 0.5)
        """
        bits = max((code.bit_length() for code in self.counts), default=0)
        pairs = zip(self._shares(first, bits), self._shares(second, bits), strict=True)
        return sum(p * (1 - q) + q * (1 - p) for p, q in pairs)

    def _shares(self, label: str, bits: int) -> list[float]:
        """Return, for each bit, the share of the spans with a label whose code has that bit set."""
        counts = {code: labels[label] for code, labels in self.counts.items() if label in labels}
        if not counts:
            known = self.labels
            raise KeyError(f"{label!r} is not one of the {len(known)} labels: {shortened(known)}")
        total = sum(counts.values())
        return [sum(n for code, n in counts.items() if code >> bit & 1) / total for bit in range(bits)]

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
        """Return the key by which counted codes compete to replace a code; the one with the least key wins."""
        return (code ^ seen).bit_count(), -self._totals[seen], seen
