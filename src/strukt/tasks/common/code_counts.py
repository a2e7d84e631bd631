"""Counts of the labels that codes stood for: as a part of a saved model, and as a picture."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.viz import HeatMap

NOTHING = "∅"
"""Stands for the empty label in pictures."""

MOST_SHOWN = 24
"""Labels in a picture at most: with chains of labels there are often a hundred, most of them rare."""


def to_tensor(codes: CodeVocabulary, labels: Vocabulary) -> Tensor:
    """Code, number of the label, and count, of each pair that was counted: ``(m, 3)``."""
    rows = [
        (code, labels.index(label), count)
        for code, counts in codes.counts.items()
        for label, count in counts.items()
    ]
    return torch.tensor(rows, dtype=torch.long).reshape(-1, 3)


def from_tensor(state: Tensor, labels: Vocabulary) -> CodeVocabulary:
    """The inverse of `to_tensor`."""
    counts: dict[int, dict[str, int]] = {}
    for code, label, count in state.tolist():
        counts.setdefault(code, {})[labels.symbols[label]] = count
    return CodeVocabulary(counts)


def distances(codes: CodeVocabulary) -> HeatMap:
    """In how many bits the codes of labels differ on average: of the most frequent labels, in that order."""
    labels = codes.labels[:MOST_SHOWN]
    names = [label or NOTHING for label in labels]
    values = [[codes.distance(row, column) for column in labels] for row in labels]
    return HeatMap("mean Hamming distance between the codes of labels", names, names, values)
