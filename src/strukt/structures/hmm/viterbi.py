"""Viterbi's algorithm for hidden Markov models: the most probable states, given all words."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.hmm.reference import Chains, safe_log
from strukt.structures.hmm.steps import Steps, columns, steps

BLOCK = 1 << 22
"""The largest number of entries of a table in a step, unless a single column for all sentences has more."""

STORED = 1 << 26
"""The largest number of entries of a transition matrix that is stored: 8,192 states, 256 MiB in float32."""


def best_path(chains: Chains) -> tuple[Tensor, Tensor]:
    """Return the most probable states ``(batch, n)`` (Viterbi) and their joint log-probability with the words.

    States are -1 in the padding. If the words are impossible, all states are -1 and the log-probability is -inf.
    Log-probabilities ``(batch,)`` are float64. A maximum cannot use low-rank factors: it takes O(n z^2) time and,
    for back-pointers, O(n z) memory for each sentence. The columns of the transition matrix are computed in
    blocks, once or, if the matrix has more than `STORED` entries, again in each step.
    """
    words, lengths, initial, emission, matrices, band = chains
    batch, n = words.shape
    z = initial.shape[1]
    moving = steps(matrices, band)
    size = max(min(BLOCK // max(z * max(batch, 1), 1), z), 1)
    firsts = range(0, z, size)
    kept = [_log_columns(moving, band, first, size, z) for first in firsts] if z * z <= STORED else None
    states = torch.arange(z, device=words.device).expand(batch, z)
    best, pointers = safe_log(initial).double(), []
    for time in range(n):
        within = (time < lengths).unsqueeze(1)
        if time:
            result = [
                (
                    best.unsqueeze(2) + (kept[block] if kept else _log_columns(moving, band, first, size, z))
                ).max(1)
                for block, first in enumerate(firsts)
            ]
            reached = torch.cat([part.values for part in result], 1)
            pointers.append(torch.where(within, torch.cat([part.indices for part in result], 1), states))
        else:
            reached = best
        reached = reached + emission[torch.where(within.squeeze(1), words[:, time], 0)]
        best = torch.where(within, reached, best)
    score, last = best.max(1)
    score = torch.where(lengths > 0, score, 0.0)
    path = [last]
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1].unsqueeze(1)).squeeze(1))
    times = torch.arange(n, device=words.device)
    table = torch.stack(path[::-1], 1) if n else lengths.new_empty(batch, 0)
    return torch.where((times < lengths[:, None]) & (score > -torch.inf)[:, None], table, -1), score


def _log_columns(moving: Steps, band: Tensor | None, first: int, size: int, states: int) -> Tensor:
    """Return the logs of up to ``size`` columns of the transition matrix, from ``first`` on: ``(z, columns)``."""
    device = (moving.last if moving.last is not None else band).device  # type: ignore[union-attr]
    targets = torch.arange(first, min(first + size, states), device=device)
    return safe_log(columns(moving, band, targets).mT)
