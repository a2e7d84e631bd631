"""A causal language model (LM) from any encoder that attends only to the left."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.nn.left_to_right import LeftToRightModel
from strukt.nn.mean_field_encoder import MeanFieldEncoder
from strukt.nn.transformer import Transformer


class CausalState(NamedTuple):
    """State carried between chunks of a text.

    Attributes:
        word: ``(batch,)``, the last word that was read.
        memory: ``(batch, m)``, the words before it that are re-encoded as left context of the next chunk.
    """

    word: Tensor
    memory: Tensor


class CausalLanguageModel(LeftToRightModel):
    """A causal language model (LM): a causal Transformer or Probabilistic Transformer reads the words so far.

    Args:
        words: Size of the vocabulary, v.
        size: Size of the word vectors.
        encoder: An encoder of vectors of this size, made with ``causal=True``.
        dropout: Dropout of the inputs and the outputs of the encoder.
        window: Number of words that are re-encoded as left context of the next chunk of a text; 0 for none. A text
            of at most this many words has the same probability whether it is read in chunks or at once.

    Raises:
        ValueError: If `words` or `size` is less than 1, the encoder is not causal, `dropout` is not a probability,
            or `window` is below 0.

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
            raise ValueError("encoder sees words to the right; expected one with causal=True")
        if window < 0:
            raise ValueError(f"window is {window}; expected 0 or more")
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
