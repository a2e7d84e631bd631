"""The symbols of a corpus and their numbers, kept as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

PADDING = "<pad>"
UNKNOWN = "<unk>"
END = "</s>"
"""The word that ends a sentence, where models read or predict its end."""
CLS = "<cls>"
"""The word in front of a sentence that stands for it, where models classify sentences by one."""
MASK = "<mask>"
"""What stands in the place of a word that is to be guessed."""
SPECIALS = (PADDING, UNKNOWN)
"""Stand first in the vocabulary of an input; a vocabulary of labels has none."""


class Vocabulary:
    """Numbers symbols from 0 in the order given; it never changes.

    With `UNKNOWN` among the symbols, any other string has its number; without, it is an error.

    Args:
        symbols: All symbols; one given twice counts where it stands first.

    Attributes:
        symbols: The symbol of each number.

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
        """The vocabulary of an input: `SPECIALS`, then what occurs `minimum` times or more, by frequency."""
        counts = Counter(symbols)
        frequent = sorted((-count, symbol) for symbol, count in counts.items() if count >= minimum)
        return cls([*SPECIALS, *(symbol for _, symbol in frequent)])

    @classmethod
    def labels(cls, symbols: Iterable[str]) -> Vocabulary:
        """The vocabulary of an output: exactly the labels that occur, in alphabetical order."""
        return cls(sorted(set(symbols)))

    def index(self, symbol: str) -> int:
        """The number of a symbol.

        Raises:
            KeyError: It is not in the vocabulary, which has no symbol for unknown ones.
        """
        index = self._index.get(symbol, self._unknown)
        if index is None:
            raise KeyError(f"{symbol!r} is none of the {len(self)} labels: {_shortened(self.symbols)}")
        return index

    def indices(self, symbols: Iterable[str]) -> list[int]:
        """The numbers of several symbols.

        Raises:
            KeyError: As for `index`.
        """
        return [self.index(symbol) for symbol in symbols]

    def to_json(self) -> list[str]:
        """What `json.dump` may write."""
        return list(self.symbols)

    @classmethod
    def from_json(cls, value: Any) -> Vocabulary:
        """The vocabulary that `to_json` gave.

        Raises:
            ValueError: The value is no list of different strings.
        """
        if not isinstance(value, list) or not all(isinstance(symbol, str) for symbol in value):
            raise ValueError(f"a vocabulary is a list of strings, got {type(value).__name__}")
        if len(set(value)) < len(value):
            raise ValueError("a symbol stands twice in the vocabulary; the numbers after it would be wrong")
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
        return f"Vocabulary({len(self)} symbols: {_shortened(self.symbols)})"


def _shortened(symbols: Sequence[str]) -> str:
    return ", ".join(symbols[:8]) + (", ..." if len(symbols) > 8 else "")
