"""Ranking metrics: accuracy at k and the median rank of the right answers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


class Ranks:
    """Ranking metrics: collects the ranks of the right answers.

    Args:
        cutoffs: Values of k for accuracy at k, the share of the right answers whose rank is k or better.

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
        self.listed: list[int] = []  # the ranks of answers that are in their ranking

    def update(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Add one ranking.

        A correct answer that is not in the ranking has the rank after the last one, and is wrong at every cutoff.

        Args:
            gold: The right answers, often a single one; each of them gets a rank.
            predicted: The ranking, the best answer first; of an answer that it lists twice, the first rank counts.

        Raises:
            ValueError: If an argument is a string.
        """
        for name, answers in (("gold", gold), ("predicted", predicted)):
            if isinstance(answers, str):
                raise ValueError(f"{name} is the string {answers!r}; expected a list of answers")
        ranks = [1 + predicted.index(one) for one in gold if one in predicted]
        self.listed += ranks
        self.ranks += ranks + [1 + len(predicted)] * (len(gold) - len(ranks))

    def result(self) -> dict[str, float]:
        """Return accuracy at each cutoff in per cent, and the median rank; 0 without answers.

        The median of an even number of ranks is the mean of the middle two.
        """
        count = max(len(self.ranks), 1)
        shares = {f"accuracy@{k}": 100 * sum(rank <= k for rank in self.listed) / count for k in self.cutoffs}
        return shares | {"median rank": float(median(self.ranks)) if self.ranks else 0.0}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return an empty dictionary: this metric has no tables."""
        return {}
