"""Networks that read from left to right, as distributions over texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from strukt.nn.left_to_right import LeftToRightModel
from strukt.tasks.common.scores import draw
from strukt.tasks.lm.texts.text import State, Text


class LeftToRightText(Text):
    """A network that predicts each word from the words before it, as a distribution over texts.

    Args:
        symbols: The words, in the order of their indices.
        network: The network over word indices.
    """

    def __init__(self, symbols: Sequence[str], network: LeftToRightModel) -> None:
        super().__init__(symbols)
        self.network = network

    @override
    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        log_probs, after = self.network(x, lengths, state)
        return log_probs.sum(1), after

    @override
    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        log_probs: Tensor = self.network(x, lengths)[0]
        return log_probs

    @override
    def sample(self, count: int, length: int) -> Tensor:
        state, words = self.network.beginning(count), []
        for _ in range(length):
            drawn = draw(self.network.next(state).exp())
            words.append(drawn)
            state = self.network(drawn, drawn.new_ones(count), state)[1]
        return torch.cat(words, 1) if words else torch.zeros(count, 0, dtype=torch.long)
