"""Encoders: a vector per word becomes a vector per word in its sentence."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from strukt.nn.dropout import SharedDropout


def mask_of(lengths: Tensor, n: int) -> Tensor:
    """True where a position is inside its sequence.

    Args:
        lengths: `(*batch,)`.
        n: The padded length.

    Returns:
        `(*batch, n)` booleans.

    Examples:
        >>> mask_of(torch.tensor([1, 3]), 3).int()
        tensor([[1, 0, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    return torch.arange(n, device=lengths.device) < lengths.unsqueeze(-1)


class BiLSTM(nn.Module):
    """Layers of two LSTMs that read the sentence in both directions, with dropout between the layers.

    Args:
        inputs: Size of the vectors that come in.
        hidden: Size of each direction; what comes out has twice this size.
        layers: Number of layers.
        dropout: Probability that a feature of a sentence is dropped, before each layer but the first.

    Attributes:
        size: Size of the vectors that come out.

    Examples:
        >>> encoder = BiLSTM(8, 16, layers=2)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 32])
    """

    def __init__(self, inputs: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.dropout = SharedDropout(dropout)
        sizes = [inputs] + [self.size] * (layers - 1)
        self.layers = nn.ModuleList(_BothWays(size, hidden) for size in sizes)
        for name, parameter in self.layers.named_parameters():
            _initialise_lstm(name, parameter)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Reads the sentences.

        Args:
            x: `(batch, n, inputs)`; the padding is ignored.
            lengths: `(batch,)`.

        Returns:
            `(batch, n, size)`, zero in the padding.
        """
        batch, n, _ = x.shape
        if batch * n == 0:
            return x.new_zeros(batch, n, self.size)
        outside = ~mask_of(lengths, n).unsqueeze(-1)
        x = x.masked_fill(outside, 0)
        mirrored = _mirrored(lengths, n).unsqueeze(-1)
        for index, layer in enumerate(self.layers):
            x = self.dropout(x) if index else x
            x = layer(x, mirrored)
        return x.masked_fill(outside, 0)


class _BothWays(nn.Module):
    """An LSTM that reads sentences as they are, and one that reads them from behind.

    Packed sequences would save the steps in the padding, but cost more than that: on the CPU their backward pass
    goes through time by slices, in place of one fused kernel.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(inputs, hidden, batch_first=True)
        self.backwards = nn.LSTM(inputs, hidden, batch_first=True)

    def forward(self, x: Tensor, mirrored: Tensor) -> Tensor:
        """From `(batch, n, inputs)` and positions `(batch, n, 1)` to `(batch, n, 2 hidden)`."""
        x = x.to(next(self.parameters()).dtype)
        with torch.autocast("cpu", enabled=False):  # that kernel fails in bfloat16 on processors without it
            right = self.forwards(x)[0]
            left = self.backwards(x.take_along_dim(mirrored, 1))[0].take_along_dim(mirrored, 1)
        return torch.cat([right, left], -1)


def _mirrored(lengths: Tensor, n: int) -> Tensor:
    """Where each position lies when a sentence, and its padding apart from it, is read from behind: `(batch, n)`.

    Examples:
        >>> _mirrored(torch.tensor([3, 4]), 4)
        tensor([[2, 1, 0, 3],
                [3, 2, 1, 0]])
    """
    return (lengths.unsqueeze(-1) - 1 - torch.arange(n, device=lengths.device)) % n


@torch.no_grad()
def _initialise_lstm(name: str, parameter: Tensor) -> None:
    """Orthogonal matrices per gate; the forget gate starts open (Jozefowicz et al., 2015)."""
    if parameter.dim() == 2:
        for gate in parameter.chunk(4):
            nn.init.orthogonal_(gate)
        return
    parameter.zero_()
    if "bias_ih" in name:
        parameter.chunk(4)[1].fill_(1.0)


class Transformer(nn.Module):
    """A Transformer encoder with sinusoidal positions, normalised before each block.

    Source: Vaswani et al. (2017); Xiong et al. (2020) for the place of the normalisation.

    Args:
        inputs: Size of the vectors that come in.
        size: Size of the vectors inside and of those that come out.
        layers: Number of layers.
        heads: Attention heads; `size` is a multiple of it.
        dropout: Dropout in every block.

    Examples:
        >>> encoder = Transformer(8, 16, layers=2, heads=4)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, inputs: int, size: int, layers: int = 1, heads: int = 8, dropout: float = 0.0) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"size: expected a multiple of heads={heads}, found {size}")
        self.size = size
        self.project = nn.Linear(inputs, size)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                size, heads, 4 * size, dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Reads the sentences.

        Args:
            x: `(batch, n, inputs)`; the padding is ignored.
            lengths: `(batch,)`.

        Returns:
            `(batch, n, size)`, zero in the padding; `O(n^2)` time and memory.
        """
        batch, n, _ = x.shape
        if batch * n == 0:
            return x.new_zeros(batch, n, self.size)
        outside = ~mask_of(lengths, n)
        # A softmax over nothing is NaN, so that an empty sentence attends to its (zero) padding.
        unseen = outside & (lengths > 0).unsqueeze(-1)
        x = self.project(x.masked_fill(outside.unsqueeze(-1), 0))
        x = self.dropout(x + sinusoids(n, self.size, x))
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=unseen)
        normed: Tensor = self.norm(x)
        return normed.masked_fill(outside.unsqueeze(-1), 0)


def sinusoids(n: int, size: int, like: Tensor) -> Tensor:
    """Positions as sines and cosines of geometrically spaced frequencies, `(n, size)`.

    Args:
        n: Number of positions.
        size: Number of features; an odd size leaves out the last cosine.
        like: A tensor whose dtype and device are taken.

    Examples:
        >>> sinusoids(2, 4, torch.zeros(()))[0]
        tensor([0., 0., 1., 1.])
    """
    half = (size + 1) // 2
    frequency = torch.exp(torch.arange(half, device=like.device) * (-math.log(10_000.0) / half))
    angle = torch.arange(n, device=like.device).unsqueeze(-1) * frequency
    return torch.cat([angle.sin(), angle.cos()], -1)[:, :size].to(like.dtype)
