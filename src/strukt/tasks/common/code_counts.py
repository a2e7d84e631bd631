"""Counts of the labels of each code: in a saved model, and as a picture."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.viz import HeatMap

NOTHING = "∅"
"""The empty label in pictures."""

MOST_SHOWN = 24
"""Maximum number of labels in a picture: a treebank has hundreds of chains of labels, most of them rare."""


class CountedCodes(nn.Module):
    """A module that assigns binary codes, and counts the labels of each code; saved weights include the counts.

    Attributes:
        labels: The labels that codes stand for.
        vocabulary: The counts of the labels of each code.
    """

    labels: Vocabulary
    vocabulary: CodeVocabulary

    def get_extra_state(self) -> Tensor:
        """Return the code, the label's index and the count of each pair of code and label, ``(pairs, 3)``."""
        rows = [
            (code, self.labels.index(label), count)
            for code, counts in self.vocabulary.counts.items()
            for label, count in counts.items()
        ]
        return torch.tensor(rows, dtype=torch.long).reshape(-1, 3)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the counts from `get_extra_state`."""
        counts: dict[int, dict[str, int]] = {}
        for code, label, count in state.tolist():
            counts.setdefault(code, {})[self.labels.symbols[label]] = count
        self.vocabulary = CodeVocabulary(counts)

    def distances(self) -> HeatMap:
        """Draw the mean Hamming distances between the codes of the most frequent labels, most frequent first."""
        labels = self.vocabulary.labels[:MOST_SHOWN]
        names = [label or NOTHING for label in labels]
        values = [[self.vocabulary.distance(row, column) for column in labels] for row in labels]
        return HeatMap("mean Hamming distance between the codes of labels", names, names, values)
