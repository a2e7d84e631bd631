"""A convolutional encoder: each layer reads a window around each word, for all words in parallel."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from strukt.nn.dropout import SharedDropout
from strukt.nn.encoders import SentenceEncoder, mask_of
from strukt.nn.inputs import require_sizes

CYCLE = 4
"""The number of layers after which the dilation is 1 again."""


class GatedConvolution(SentenceEncoder):
    """Dilated gated convolutions (gated CNN) over windows of three words, dilated by 1, 2, 4 and 8 in turn.

    Each layer combines the vector of a word with those of one word on each side, and adds the result to it. Four
    layers see 15 words on each side. All words are read in parallel, without the sequential steps of an LSTM.

    Sources: Dauphin et al. (2017), "Language modeling with gated convolutional networks"; Strubell et al. (2017),
    "Fast and accurate entity recognition with iterated dilated convolutions", for dilations that double.

    Args:
        inputs: Size of the input vectors.
        size: Size of the hidden and the output vectors.
        layers: Number of layers.
        dropout: Probability that a feature is dropped for a whole sentence, before each layer but the first.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

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

    def _encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        outside = ~mask_of(lengths, x.shape[1]).unsqueeze(-1)
        x = self.project(x)
        for index, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if index else x, outside)
        result: Tensor = self.norm(x)
        return result


class _Layer(nn.Module):
    """A gated convolution over windows, with a residual connection.

    Args:
        size: Size of the vectors.
        distance: The dilation: number of words from the middle of a window to either end.
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
