"""The forward algorithm of CTC over labellings of frames that collapse to a target, as a table program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.engine.flat import Flat
from strukt.kernels.engine.operators import doubles_of, result
from strukt.kernels.engine.program import Program, ProgramBuilder
from strukt.kernels.engine.tables import Tables
from strukt.structures.ctc.reference import may_be_skipped_to


def build(n: int, m: int, states: int) -> Program:
    """Build the program of labellings of n frames that collapse to a target of m labels.

    Its inputs are ``emission[t, s]``, the score of state s at frame t, and ``move[s, step]``, the score of
    entering state s from state s - 2 + step. Cell ``way[t, s + 2]`` is the total of all paths to state s after t
    frames; they start in the first blank, before the first frame. Time O(n m).

    Args:
        n: The number of frames.
        m: The number of labels of the target.
        states: The number of states of the longest target. A row of scores has 0, for a step to the same or the
            next state, then the score of skipping to each state, then the emissions ``(frames, states)``.

    Source: Graves et al. 2006.
    """
    p = ProgramBuilder()
    t, s = np.ogrid[:n, : 2 * m + 1]
    emission = p.scattered(1 + states + t * states + s, times=n)
    s, step = np.ogrid[: 2 * m + 1, :3]
    move = p.scattered(np.where(step == 0, 1 + s, 0))
    way, ones = p.cells(n + 1, 2 * m + 3), p.cells(2)
    p.leaf(way[0, 2], ones)
    t, blank = np.ogrid[:n, : 2 * m + 1 : 2]
    p.sum(way[t + 1, blank + 2], way[t, blank + 1], ones[0], count=2, weight=emission[t, blank], stage=t)
    t, label = np.ogrid[:n, 1 : 2 * m + 1 : 2]
    p.sum(way[t + 1, label + 2], way[t, label], count=3, weight=emission[t, label], each=move[label, 0], stage=t)
    return p.build(way[:, 1::2], ones[0], count=2)


def cells(n: int, m: int, _states: int) -> int:
    """Return the number of cells of the program that `build` returns."""
    return (n + 1) * (2 * m + 3) + 3


class States(Flat):
    """A CPU backend whose table program sees the scores of the target's states in place of those of all labels."""

    def __init__(self) -> None:
        self.tables = Tables(build)

    def _places(self, main: Tensor) -> Sequence[int]:
        """Return the shape of the events of the table: a flat row of scores of any size."""
        return (1,)

    def _sizes(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> list[tuple[Any, ...]]:
        states, target_lengths = options
        return [(n, m, states.shape[1]) for n, m in zip(lengths.tolist(), target_lengths.tolist(), strict=True)]

    def _joined(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Array:
        return _rows(scores, options[0], skips_to(options[0]))

    def _directions(self, directions: Sequence[Tensor], options: Sequence[Any]) -> Array:
        return _rows(directions, options[0], torch.zeros(options[0].shape))

    def _parted(self, rows: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        by_label = sum_of_labels(_emissions(rows, scores[0], options[0]), scores[0], options[0])
        return result(by_label.numpy(), scores[0])

    def _best_parted(self, rows: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        by_label = best_of_labels(_emissions(rows, scores[0], options[0]), scores[0], options[0])
        return result(by_label.numpy(), scores[0])

    def _joined_factors(
        self, factors: Tensor, rows: Array, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]
    ) -> Array:
        """Return rows of scores that hold the factor of each label at one of its states, and 0 elsewhere.

        This state is the first whose max-marginal is that of the label.
        """
        states = options[0]
        index, bounds = by_state(factors, states), _emissions(
            self._bounds(scores, rows, lengths, options), factors, states
        )
        best = best_of_labels(bounds, factors, states).gather(-1, index)
        state = torch.arange(states.shape[1]).expand(index.shape)
        first = torch.full(factors.shape, states.shape[1]).scatter_reduce_(
            -1, index, torch.where(bounds == best, state, states.shape[1]), "amin"
        )
        joined = np.zeros(rows.shape)
        taken = torch.where(first.gather(-1, index) == state, factors.gather(-1, index), 0.0)
        joined[:, 1 + states.shape[1] :] = taken.flatten(1).numpy()
        return joined


def by_state(logits: Tensor, states: Tensor) -> Tensor:
    """Return the label of each state, repeated for each frame: ``(batch, n, states)``, an index into logits."""
    return states.unsqueeze(1).expand(*logits.shape[:2], states.shape[1])


def sum_of_labels(emissions: Tensor, logits: Tensor, states: Tensor) -> Tensor:
    """Return the sum of ``emissions (batch, n, states)`` over the states of each label, ``(batch, n, c)``."""
    return emissions.new_zeros(logits.shape).scatter_add_(-1, by_state(logits, states), emissions)


def best_of_labels(emissions: Tensor, logits: Tensor, states: Tensor) -> Tensor:
    """Return the maximum of ``emissions (batch, n, states)`` over the states of each label, ``(batch, n, c)``.

    It is -inf for labels without a state.
    """
    result = emissions.new_full(logits.shape, -torch.inf)
    return result.scatter_reduce_(-1, by_state(logits, states), emissions, "amax")


def parts_of_row(logits: Tensor, states: Tensor, skips: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the parts of the row of scores: 0, ``(batch, 1)``, ``skips``, and emissions ``(batch, n, states)``.

    ``skips (batch, states)`` are the scores of skipping to each state.
    """
    emissions = logits.gather(-1, by_state(logits, states))
    return logits.new_zeros(len(logits), 1), skips.to(logits.dtype), emissions


def skips_to(states: Tensor) -> Tensor:
    """Return the score of skipping to each state over a blank, ``(batch, states)``: 0, or -inf if impossible."""
    return torch.where(may_be_skipped_to(states), 0.0, -torch.inf)


def _rows(scores: Sequence[Tensor], states: Tensor, skips: Tensor) -> Array:
    """Return the concatenated `parts_of_row` of the logits, the only tensor of ``scores``, in float64."""
    parts = parts_of_row(torch.from_numpy(doubles_of(scores[0])), states, skips)
    return torch.cat([part.flatten(1) for part in parts], 1).numpy()


def _emissions(rows: Array, logits: Tensor, states: Tensor) -> Tensor:
    """Return the emissions ``(batch, n, states)`` of rows of `_rows`, as a view."""
    emissions = torch.from_numpy(rows)[:, 1 + states.shape[1] :]
    return emissions.reshape(len(rows), logits.shape[1], states.shape[1])
