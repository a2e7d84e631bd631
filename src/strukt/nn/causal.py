"""A language model of any encoder that sees nothing to the right."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.nn.left_to_right import LeftToRightModel
from strukt.nn.mean_field_encoder import MeanFieldEncoder
from strukt.nn.transformer import Transformer


class CausalState(NamedTuple):
    """Where a text stands.

    Attributes:
        word: ``(batch,)``, the last word.
        memory: ``(batch, m)``, those before it that are read again with what follows.
    """

    word: Tensor
    memory: Tensor


class CausalLanguageModel(LeftToRightModel):
    """A causal encoder over the words so far: a Transformer, or mean field of a Probabilistic Transformer.

    Args:
        words: Size of the vocabulary, v.
        size: Of the vectors of words.
        encoder: From vectors of this size, with ``causal=True``.
        dropout: Of what comes in and what goes out.
        window: How many words of a text that comes in pieces are read again with the next piece. Up to so many
            words a text in pieces has the probability of the whole.

    Raises:
        ValueError: If the encoder is not causal.

    Examples:
        >>> encoder = MeanFieldEncoder(8, 16, channels=4, iterations=2, rank=4, causal=True)
        >>> model = CausalLanguageModel(10, 8, encoder)
        >>> log_probs, state = model(torch.tensor([[3, 1, 4]]), torch.tensor([3]))
        >>> log_probs.shape, round(model.next(state).exp().sum().item(), 4)
        (torch.Size([1, 3]), 1.0)
    """

    def __init__(
        self,
        words: int,
        size: int,
        encoder: Transformer | MeanFieldEncoder,
        dropout: float = 0.0,
        window: int = 64,
    ) -> None:
        super().__init__(words, size)
        if not encoder.causal:
            raise ValueError("encoder sees words to the right; expected one that is made with causal=True")
        self.encoder = encoder
        self.project = nn.Linear(encoder.size, size)
        self.dropout = nn.Dropout(dropout)
        self.window = window

    @override
    def beginning(self, batch: int) -> CausalState:
        word = torch.full((batch,), self.words, device=self.bias.device)
        return CausalState(word, word.new_zeros(batch, 0))

    @override
    def read(self, words: Tensor, state: CausalState) -> tuple[Tensor, CausalState]:
        every = torch.cat([state.memory, words], 1)
        lengths = torch.full((len(every),), every.shape[1], device=every.device)
        encoded = self.encoder(self.dropout(self.vectors(every)), lengths)[:, -words.shape[1] :]
        outputs: Tensor = self.dropout(self.project(encoded))
        return outputs, CausalState(words[:, -1], every[:, max(every.shape[1] - self.window, 0) :])
