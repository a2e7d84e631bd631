"""A convolutional encoder: each layer reads a window of words around each word, all words at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from strukt.checks.lengths import Lengths
from strukt.nn.dropout import SharedDropout
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import lengths_of, require_sizes

CYCLE = 4
"""Layers after which the distances within windows begin at 1 again."""


class GatedConvolution(nn.Module):
    """Layers of gated convolutions over windows of three words, which lie 1, 2, 4, 8, 1, ... words apart.

    Each layer adds to a word what it reads of it and of one word on either side. Four layers see 15 words on each
    side. All words are read at once, without the steps of an LSTM: on a CPU several times as fast.

    Sources: Dauphin et al. (2017), "Language modeling with gated convolutional networks"; Strubell et al. (2017),
    "Fast and accurate entity recognition with iterated dilated convolutions", for distances that double.

    Args:
        inputs: Size of the vectors that come in.
        size: Size of the vectors inside and of those that come out.
        layers: Number of layers.
        dropout: Probability that a feature of a sentence is dropped, before each layer but the first.

    Raises:
        ValueError: If a size is not above 0.

    Examples:
        >>> encoder = GatedConvolution(8, 16, layers=4)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, inputs: int, size: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        require_sizes(inputs=inputs, size=size, layers=layers)
        self.inputs, self.size = inputs, size
        self.project = nn.Linear(inputs, size)
        self.dropout = SharedDropout(dropout)
        self.layers = nn.ModuleList(_Layer(size, 2 ** (layer % CYCLE)) for layer in range(layers))
        self.norm = nn.LayerNorm(size)

    def forward(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Read the sentences.

        Args:
            x: `(batch, n, inputs)`; the padding is ignored.
            lengths: `(batch,)`; all n if None.

        Returns:
            `(batch, n, size)`, zero in the padding; `O(n)` time and memory.

        Raises:
            ValueError: If shapes do not fit, or a length is not between 0 and n.
        """
        lengths = lengths_of("x", x, self.inputs, lengths)
        batch, n, _ = x.shape
        if batch * n == 0:
            return x.new_zeros(batch, n, self.size)
        outside = ~mask_of(lengths, n).unsqueeze(-1)
        x = self.project(x.masked_fill(outside, 0))
        for index, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if index else x, outside)
        found: Tensor = self.norm(x)
        return found.masked_fill(outside, 0)


class _Layer(nn.Module):
    """A gated convolution over windows, added to what comes in.

    Args:
        size: Size of the vectors.
        distance: Words from the middle of a window to either end.
    """

    def __init__(self, size: int, distance: int) -> None:
        super().__init__()
        self.distance = distance
        self.norm = nn.LayerNorm(size)
        self.gates = nn.Linear(3 * size, 2 * size)

    def forward(self, x: Tensor, outside: Tensor) -> Tensor:
        n, distance = x.shape[1], self.distance
        padded = pad(self.norm(x).masked_fill(outside, 0), (0, 0, distance, distance))
        window = [padded[:, first : first + n] for first in (0, distance, 2 * distance)]
        return x + glu(self.gates(torch.cat(window, -1)))
