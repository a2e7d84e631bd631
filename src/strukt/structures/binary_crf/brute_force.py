"""Brute-force enumeration of binary vectors."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def binary(length: int, unary: Tensor, pairwise: Tensor, required: tuple[int, ...] = ()) -> Table:
    """Return all binary vectors and their scores, from their ones and their pairs of ones; -inf if forbidden.

    Args:
        length: The number of variables in use.
        unary: ``(n,)``, the score of a 1 at each position.
        pairwise: ``(n, n)``; each pair of ones is scored by the mean of its two entries.
        required: Indices of variables that must be 1; those beyond the length are ignored.
    """
    n = len(unary)
    events, parts, scores = [], [], []
    for values in itertools.product((0, 1), repeat=length):
        ones = [i for i in range(length) if values[i]]
        pairs = [(i, j) for i in ones for j in ones if i != j]
        rows, columns = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).unbind(1)
        score = unary.double()[ones].sum() + pairwise.double()[rows, columns].sum() / 2
        missing = any(i < length and i not in ones for i in required)
        scores.append(score.new_tensor(-math.inf) if missing else score)
        events.append([*values, *[-1] * (n - length)])
        parts.append([float(i in ones) for i in range(n)])
    return Table(
        torch.tensor(events, dtype=torch.long).reshape(-1, n),
        torch.tensor(parts, dtype=torch.float64).reshape(-1, n),
        torch.stack(scores),
    )
