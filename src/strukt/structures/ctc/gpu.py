"""CTC on GPUs: labellings of frames that collapse to a target, as a table program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.backend import Gpu
from strukt.structures.ctc import program


class States(Gpu):
    """Backend adapter that replaces the scores of labels by those of the states of each target."""

    scored_terms = False

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Sequence[Any]:
        count = options[0].shape[1]
        return scores[0].shape[1], (count - 1) // 2, count

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        return 3 * main.shape[1] * options[0].shape[1]  # type: ignore[no-any-return]

    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        states, target_lengths = options
        index: Tensor = lengths * ((states.shape[1] + 1) // 2) + target_lengths
        return index

    def _places(self, scores: Sequence[Tensor]) -> Sequence[int]:
        return (1,)

    def _own(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return program.row_of_states(scores[0], options[0], program.skips_to(options[0]))

    def _moves(self, scores: Sequence[Tensor], directions: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return program.row_of_states(directions[0], options[0], torch.zeros_like(options[0]))

    def _parted(self, found: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return program.sum_of_labels(found, scores[0], options[0])

    def _best_parted(self, found: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return program.best_of_labels(found, scores[0], options[0])

    def _events(self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], draw: bool) -> Tensor:
        states, _ = options
        used = used[:, :, 1 + states.shape[1] :].reshape(*used.shape[:2], -1, states.shape[1])
        label = states[:, None].expand(-1, used.shape[1], -1).gather(-1, used.argmax(-1))
        return torch.where(used.amax(-1) > 0, label, -1)


TABLE = States(program.build, program.cells)
