"""Decisions that all processes of a training take after the same step."""

from __future__ import annotations

import time

import torch
from lightning.pytorch import Trainer

SECONDS = 1.0
"""The time between two questions to the other processes, if steps are short."""

MOST_STEPS = 100
"""The largest number of steps between two questions, however short the steps so far."""


class Agreement:
    """The agreement of all processes, after the same step, on whether one of them has made a request.

    To ask, all processes wait for each other and for their devices. So they do not ask after each step, but about
    once a second: with each answer, they agree on the number of steps until the next question.
    """

    def __init__(self) -> None:
        self._steps, self._until, self._asked = 0, 1, time.monotonic()

    def after_step(self, trainer: Trainer, requested: bool) -> bool:
        """Return whether a process requests it, for use after each step; False between two questions."""
        if trainer.world_size == 1:
            return requested
        self._steps += 1
        return self._steps >= self._until and self.at_once(trainer, requested)

    def at_once(self, trainer: Trainer, requested: bool) -> bool:
        """Return whether a process requests it, for use at any point that all processes reach."""
        if trainer.world_size == 1:
            return requested
        now = time.monotonic()
        pace = self._steps / max(now - self._asked, 1e-6)
        until = max(1, min(int(SECONDS * pace), MOST_STEPS))
        mine = torch.tensor([int(requested), -until], device=trainer.strategy.root_device)
        largest, of_slowest = trainer.strategy.reduce(mine, reduce_op="max").tolist()
        self._steps, self._until, self._asked = 0, -of_slowest, now
        return bool(largest)
