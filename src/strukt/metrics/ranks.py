"""How high what is right stands in a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


class Ranks:
    """Counts at which places of rankings the right answers stand.

    Args:
        cutoffs: For which k to give the share of answers among the first k.

    Examples:
        >>> ranks = Ranks(cutoffs=(1, 2))
        >>> ranks.update(["cat"], ["dog", "cat", "cow"])
        >>> ranks.update(["cow"], ["cow", "cat", "dog"])
        >>> ranks.update(["bee"], ["cow", "cat", "dog"])
        >>> ranks.update(["bee"], ["bee", "cat", "dog"])
        >>> ranks.update(["ant"], ["bee"])
        >>> ranks.result()
        {'accuracy@1': 40.0, 'accuracy@2': 60.0, 'median rank': 2.0}
    """

    def __init__(self, cutoffs: Sequence[int] = (1, 10, 100)) -> None:
        self.cutoffs = cutoffs
        self.ranks: list[int] = []
        self.found: list[int] = []

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Adds right answers to a ranking, the best first.

        One that is not in it is behind all others, and not among the first k of any cutoff.
        """
        found = [1 + predicted.index(one) for one in gold if one in predicted]
        self.found += found
        self.ranks += found + [1 + len(predicted)] * (len(gold) - len(found))

    def result(self) -> dict[str, float]:
        """Shares in percent, and the median; 0 if there were none."""
        count = max(len(self.ranks), 1)
        shares = {f"accuracy@{k}": 100 * sum(rank <= k for rank in self.found) / count for k in self.cutoffs}
        return shares | {"median rank": float(median(self.ranks)) if self.ranks else 0.0}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """No tables."""
        return {}
