"""Vocabularies: the symbols of a corpus and their numbers, saved as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

PADDING = "<pad>"
UNKNOWN = "<unk>"
END = "</s>"
"""The word that ends a sentence, for models that read or predict the end."""
CLS = "<cls>"
"""A word added before a sentence, for models that classify the sentence by the vector of this word."""
MASK = "<mask>"
"""Placeholder for a word that is to be predicted."""
SPECIALS = (PADDING, UNKNOWN)
"""Padding and the unknown word: the first symbols of an input vocabulary; a vocabulary of labels has neither."""


class Vocabulary:
    """An immutable vocabulary, which numbers symbols from 0 in the given order.

    If `<unk>` is among the symbols, it stands for all other strings; otherwise these raise KeyError.

    Args:
        symbols: All symbols; duplicates are ignored after the first.

    Attributes:
        symbols: All symbols, in the order of their numbers.

    Examples:
        >>> words = Vocabulary.count(["the", "cat", "the", "dog"], minimum=2)
        >>> words.symbols, words.indices(["the", "cat"])
        (('<pad>', '<unk>', 'the'), [2, 1])
        >>> Vocabulary.labels(["root", "nsubj"]).index("root")
        1
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols: tuple[str, ...] = tuple(dict.fromkeys(symbols))
        self._index = {symbol: index for index, symbol in enumerate(self.symbols)}
        self._unknown = self._index.get(UNKNOWN)

    @classmethod
    def count(cls, symbols: Iterable[str], minimum: int = 1) -> Vocabulary:
        """Build an input vocabulary: `SPECIALS`, then all symbols that occur `minimum` times or more.

        The most frequent comes first; equally frequent symbols are in alphabetical order.
        """
        counts = Counter(symbols)
        frequent = sorted((-count, symbol) for symbol, count in counts.items() if count >= minimum)
        return cls([*SPECIALS, *(symbol for _, symbol in frequent)])

    @classmethod
    def labels(cls, symbols: Iterable[str]) -> Vocabulary:
        """Build the vocabulary of an output: exactly the labels that occur, in alphabetical order."""
        return cls(sorted(set(symbols)))

    def index(self, symbol: str) -> int:
        """Return the number of a symbol.

        Raises:
            KeyError: If the vocabulary contains neither the symbol nor `<unk>`.
        """
        index = self._index.get(symbol, self._unknown)
        if index is None:
            raise KeyError(f"{symbol!r} is not one of the {len(self)} labels: {shortened(self.symbols)}")
        return index

    def indices(self, symbols: Iterable[str]) -> list[int]:
        """Return the numbers of several symbols.

        Raises:
            KeyError: If `index` raises it for a symbol.
        """
        return [self.index(symbol) for symbol in symbols]

    def to_json(self) -> list[str]:
        """Return the symbols in order, as a list that `json.dump` can write."""
        return list(self.symbols)

    @classmethod
    def from_json(cls, value: Any) -> Vocabulary:
        """Return the vocabulary that `to_json` wrote.

        Raises:
            ValueError: If the value is not a list of distinct strings.
        """
        if not isinstance(value, list) or not all(isinstance(symbol, str) for symbol in value):
            raise ValueError(f"a vocabulary is a list of strings, got {type(value).__name__}")
        if len(set(value)) < len(value):
            raise ValueError("a symbol occurs twice in the vocabulary; the numbers after it would be wrong")
        return cls(value)

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} symbols: {shortened(self.symbols)})"


def shortened(symbols: Sequence[str]) -> str:
    """Return the first eight symbols of a list, and dots if there are more, for messages."""
    return ", ".join(symbols[:8]) + (", ..." if len(symbols) > 8 else "")
