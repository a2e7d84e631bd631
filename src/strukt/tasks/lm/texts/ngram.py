"""N-gram models as distributions over texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from strukt.nn import KneserNey
from strukt.nn.encoders import mask_of
from strukt.tasks.common.scores import draw
from strukt.tasks.lm.texts.text import State, Text


class CountedText(Text):
    """An n-gram model as a distribution over texts.

    The state is the last words read, ``(batch, order - 1)``, where `order` is the maximum length of n-grams.

    Args:
        symbols: The words, in the order of their indices.
        counts: The n-gram model over word indices.
    """

    def __init__(self, symbols: Sequence[str], counts: KneserNey) -> None:
        super().__init__(symbols)
        self.counts = counts

    @override
    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        before = self._beginning(x) if state is None else state
        inside = mask_of(lengths, x.shape[1])
        words = x.masked_fill(~inside, 0)
        log_probs = self.counts.log_probs(words, before).masked_fill(~inside, 0)
        return log_probs.sum(1), torch.cat([before, words], 1)[:, x.shape[1] :]

    @override
    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        inside = mask_of(lengths, x.shape[1])
        return self.counts.log_probs(x.masked_fill(~inside, 0)).masked_fill(~inside, 0)

    @override
    def sample(self, count: int, length: int) -> Tensor:
        words = torch.zeros(count, 0, dtype=torch.long)
        for _ in range(length):
            words = torch.cat([words, draw(self.counts.next(words).exp())], 1)
        return words

    def _beginning(self, x: Tensor) -> Tensor:
        return x.new_full((len(x), self.counts.order - 1), self.counts.beginning)
