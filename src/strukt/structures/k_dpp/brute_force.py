"""Brute-force enumeration of subsets of a determinantal point process (DPP)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from strukt.structures.enumeration import Table
from strukt.structures.k_subset.brute_force import k_subset


def k_dpp(length: int, scores: Tensor, kernel: Tensor, *, k: int) -> Table:
    """Return all subsets of k items, with their scores under a determinantal point process of full rank.

    Args:
        length: The number of items in use.
        scores: ``(n,)``, a log-weight for each item.
        kernel: ``(n, n)``, symmetric and positive definite.
        k: The size of the subsets.
    """
    table = k_subset(length, scores, low=k, high=k)
    volumes = [kernel.double()[event == 1][:, event == 1].logdet() for event in table.events]
    return replace(table, scores=table.scores + torch.stack(volumes))
