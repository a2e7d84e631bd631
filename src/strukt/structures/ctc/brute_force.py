"""Brute-force enumeration of labellings that collapse to a target (CTC)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.structures.enumeration import Table, choices


def ctc(length: int, logits: Tensor, target: Sequence[int], blank: int = 0) -> Table:
    """Return all labellings of frames that collapse to the target (merge repeats, drop blanks), and their scores.

    Args:
        length: The number of frames in use.
        logits: ``(n, c)``, the score of each label at each frame.
        target: The labels to which a labelling must collapse, without blanks.
        blank: The blank label.
    """
    n, c = logits.shape
    every = itertools.product(range(c), repeat=length)
    labellings = [labels for labels in every if _collapsed(labels, blank) == list(target)]
    events, parts = choices(labellings, n, c)
    return Table(events, parts, logits.double()[torch.arange(length), events[:, :length]].sum(1))


def _collapsed(labels: Sequence[int], blank: int) -> list[int]:
    """Return the labels with repeats merged, then blanks dropped."""
    return [label for label, _ in itertools.groupby(labels) if label != blank]
