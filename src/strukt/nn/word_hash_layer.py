"""A Transformer layer whose heads are the bits of word codes."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.nn.attention_hash import AttentionHash
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import lengths_of


class HashLayer(nn.Module):
    """A Transformer layer with one head for each bit: returns word vectors, and scores of the bits of word codes.

    The scores `s_k(i, j) = (W_k^Q h_i)' (W_k^K h_j) / sqrt(d_k)` of head k for word vectors h have two uses: their
    softmax over j is the attention of word i, and the sign of `s_k(i, i)` is bit k of the code of word i. Codes
    and vectors thus share their scores.

    Source: Wang et al. (2023), as described in section 2.2, equations 4 to 7, of Wang and Utiyama (2024).

    Args:
        size: Size of the word vectors.
        bits: Number of bits of a code. Each bit has a head of size d_k: `size / bits`, rounded up.
        dropout: Dropout after the attention and after the feed-forward network.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability.

    Examples:
        >>> layer = HashLayer(16, bits=3)
        >>> words, bits = layer(torch.randn(2, 5, 16), torch.tensor([5, 3]))
        >>> words.shape, bits.shape
        (torch.Size([2, 5, 16]), torch.Size([2, 5, 3]))
    """

    def __init__(self, size: int, bits: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.hash = AttentionHash(size, bits)
        width = bits * math.ceil(size / bits)
        self.value, self.output = nn.Linear(size, width), nn.Linear(width, size)
        self.feed_forward = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: Tensor, lengths: Lengths | None = None) -> tuple[Tensor, Tensor]:
        """Encode a batch of sentences.

        Args:
            words: `(batch, n, size)`; padding is ignored.
            lengths: `(batch,)`; all n if None.

        Returns:
            New vectors, `(batch, n, size)`, and the scores of bits, `(batch, n, bits)`, both meaningless in the
            padding; `O(n^2)` time for each bit.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        lengths = lengths_of("words", words, self.output.out_features, lengths)
        inside = mask_of(lengths, words.shape[1])
        words = words.masked_fill(~inside.unsqueeze(-1), 0)
        scores: Tensor = self.hash(words)
        seen = inside[:, None, :, None]
        attention = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(2)
        values = self.value(words).unflatten(-1, (scores.shape[-1], -1))
        mixed = torch.einsum("bijk,bjkd->bikd", attention, values).flatten(2)
        words = self.attention_norm(words + self.dropout(self.output(mixed)))
        words = self.feed_forward_norm(words + self.dropout(self.feed_forward(words)))
        return words, scores.diagonal(dim1=1, dim2=2).transpose(1, 2)
