"""Counts of the labels of each code: as a tensor in a saved model, and as a picture."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.viz import HeatMap

NOTHING = "∅"
"""The empty label in pictures."""

MOST_SHOWN = 24
"""Maximum number of labels in a picture; chains of labels number in the hundreds, most of them rare."""


def to_tensor(codes: CodeVocabulary, labels: Vocabulary) -> Tensor:
    """Return the code, the label index and the count of each counted pair: ``(m, 3)``."""
    rows = [
        (code, labels.index(label), count)
        for code, counts in codes.counts.items()
        for label, count in counts.items()
    ]
    return torch.tensor(rows, dtype=torch.long).reshape(-1, 3)


def from_tensor(state: Tensor, labels: Vocabulary) -> CodeVocabulary:
    """Return the counts in a tensor from `to_tensor`."""
    counts: dict[int, dict[str, int]] = {}
    for code, label, count in state.tolist():
        counts.setdefault(code, {})[labels.symbols[label]] = count
    return CodeVocabulary(counts)


def distances(codes: CodeVocabulary) -> HeatMap:
    """Draw the mean Hamming distances between the codes of the most frequent labels, most frequent first."""
    labels = codes.labels[:MOST_SHOWN]
    names = [label or NOTHING for label in labels]
    values = [[codes.distance(row, column) for column in labels] for row in labels]
    return HeatMap("mean Hamming distance between the codes of labels", names, names, values)
