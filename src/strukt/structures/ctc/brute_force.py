"""Labellings that collapse to a target, by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.structures.enumeration import Table, choices


def ctc(length: int, logits: Tensor, target: Sequence[int], blank: int = 0) -> Table:
    """All labellings of frames that become the target when repeats are merged and then blanks dropped.

    Args:
        length: Number of frames in use.
        logits: `(n, c)`.
        target: Labels.
        blank: The label that stands for none.
    """
    n, c = logits.shape
    every = itertools.product(range(c), repeat=length)
    labellings = [labels for labels in every if _collapsed(labels, blank) == list(target)]
    events, parts = choices(labellings, n, c)
    return Table(events, parts, logits.double()[torch.arange(length), events[:, :length]].sum(1))


def _collapsed(labels: Sequence[int], blank: int) -> list[int]:
    return [label for label, _ in itertools.groupby(labels) if label != blank]
