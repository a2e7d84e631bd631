"""Transformer encoders, also as a baseline for the Probabilistic Transformer."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from strukt.inference.settings import require_one_of
from strukt.nn.encoders import SentenceEncoder, mask_of
from strukt.nn.inputs import require_sizes
from strukt.nn.relative_attention import relative_attention

Positions = Literal["absolute", "relative"]
"""The encoding of positions in a Transformer."""


class Transformer(SentenceEncoder):
    """A Transformer encoder with sinusoidal or relative positions, and normalisation before or after each block.

    The two blocks of a layer are attention and a feed-forward network.

    Source: Vaswani et al. (2017); Xiong et al. (2020) for normalisation before blocks; Shaw et al. (2018) for
    relative positions: each distance has a vector that is added to the keys, and one that is added to the values.
    Takes O(n^2) time and memory for n words.

    Args:
        inputs: Size of the input vectors.
        size: Size of the hidden and the output vectors.
        layers: Number of layers.
        heads: Number of attention heads.
        dropout: Dropout of the projected inputs, of attention weights, of the hidden layers of feed-forward
            networks, and of the outputs of all blocks.
        feed_forward: Size of the hidden layer of the feed-forward networks; four times `size` if None.
        head_size: Size of a head; if None, `size` divided by `heads`, which must be a whole number.
        positions: ``absolute``, sinusoids added to the words; or ``relative``, vectors of distances.
        reach: Maximum relative distance; longer distances share its vectors. Only for relative positions.
        distance_values: Whether vectors of relative distances are added to the values, too, not only to the keys.
            Only for relative positions.
        norm_first: Whether normalisation comes before each block (pre-norm) or after it (post-norm).
        causal: Whether words attend only to themselves and to words on their left.

    Raises:
        ValueError: If a size, `layers`, `heads` or `reach` is less than 1, `heads` does not divide `size` and
            `head_size` is None, the positions are unknown, or `dropout` is not a probability.

    Examples:
        >>> encoder = Transformer(8, 16, layers=2, heads=4, positions="relative")
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(
        self,
        inputs: int,
        size: int,
        layers: int = 1,
        heads: int = 8,
        dropout: float = 0.0,
        *,
        feed_forward: int | None = None,
        head_size: int | None = None,
        positions: Positions = "absolute",
        reach: int = 8,
        distance_values: bool = True,
        norm_first: bool = True,
        causal: bool = False,
    ) -> None:
        super().__init__()
        require_sizes(inputs=inputs, size=size, layers=layers, heads=heads)
        require_one_of("positions", positions, ("absolute", "relative"))
        head_size = size_of_head(size, heads, head_size)
        feed_forward = 4 * size if feed_forward is None else feed_forward
        require_sizes(head_size=head_size, feed_forward=feed_forward, reach=reach)
        self.inputs, self.size, self.absolute, self.causal = inputs, size, positions == "absolute", causal
        distances = None if self.absolute else reach
        self.project = nn.Linear(inputs, size)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(
                size,
                _SelfAttention(size, heads, head_size, distances, distance_values, dropout),
                _feed_forward(size, feed_forward, dropout),
                dropout,
                norm_first,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size) if norm_first else nn.Identity()

    def _encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        n = x.shape[1]
        mask = attention_mask(lengths, n)
        if self.causal:
            mask = mask & torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        x = self.project(x)
        x = self.dropout(x + sinusoids(n, self.size, x) if self.absolute else x)
        for layer in self.layers:
            x = layer(x, mask)
        normed: Tensor = self.norm(x)
        return normed


class TransformerLayer(nn.Module):
    """A layer of attention and a feed-forward network, each with dropout, a residual connection and normalisation.

    Args:
        size: Size of the vectors.
        attention: Maps vectors `(batch, n, size)` and the attention mask to vectors of the same shape.
        feed_forward: Maps each vector to a vector of the same size.
        dropout: Dropout of the outputs of both.
        norm_first: Whether normalisation comes before each block (pre-norm) or after it (post-norm).
    """

    def __init__(
        self, size: int, attention: nn.Module, feed_forward: nn.Module, dropout: float, norm_first: bool
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Encode the words of a batch.

        Args:
            x: `(batch, n, size)`.
            mask: The attention mask, `(batch, n, n)` or `(batch, 1, n)`: True where the word of the row attends to
                the word of the column.

        Returns:
            `(batch, n, size)`.
        """
        if self.norm_first:
            x = x + self.dropout(self.attention(self.attention_norm(x), mask))
            result: Tensor = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        else:
            x = self.attention_norm(x + self.dropout(self.attention(x, mask)))
            result = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return result


class _SelfAttention(nn.Module):
    """Self-attention, with vectors for each relative distance up to `reach` unless `reach` is None."""

    def __init__(
        self, size: int, heads: int, head_size: int, reach: int | None, distance_values: bool, dropout: float
    ) -> None:
        super().__init__()
        self.heads, self.head_size, self.reach, self.rate = heads, head_size, reach, dropout
        self.project = nn.Linear(size, 3 * heads * head_size)
        self.output = nn.Linear(heads * head_size, size)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)
        nn.init.zeros_(self.output.bias)
        if reach is not None:
            self.distances = nn.Parameter(torch.randn(2 * reach + 1, head_size) * head_size**-0.5)
        self.distance_values = None
        if reach is not None and distance_values:
            self.distance_values = nn.Parameter(torch.randn(2 * reach + 1, head_size) * head_size**-0.5)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Attend, given `(batch, n, size)` and the attention mask `(batch, n, n)` or `(batch, 1, n)`."""
        batch, n, _ = x.shape
        parts = self.project(x).view(batch, n, 3, self.heads, self.head_size)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        rate = self.rate if self.training else 0.0
        if self.reach is None:
            result = scaled_dot_product_attention(queries, keys, values, mask.unsqueeze(1), rate)
        else:
            of_keys, of_values = self.distances, self.distance_values
            result = relative_attention(queries, keys, values, mask, of_keys, of_values, rate)
        output: Tensor = self.output(result.transpose(1, 2).flatten(2))
        return output


def _feed_forward(size: int, hidden: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, size))


def size_of_head(size: int, heads: int, head_size: int | None) -> int:
    """Return the size of an attention head; if `head_size` is None, all heads together have `size`.

    Raises:
        ValueError: If `head_size` is None, and the number of heads does not divide the size.
    """
    if head_size is None and size % heads:
        raise ValueError(f"size is {size}; expected a multiple of heads={heads}, or set head_size")
    return size // heads if head_size is None else head_size


def attention_mask(lengths: Tensor, n: int) -> Tensor:
    """Return the attention mask, `(batch, 1, n)`: True for the words of each sentence.

    In an empty sentence, attention reads the padding, because a softmax over nothing is NaN.

    Args:
        lengths: `(batch,)`.
        n: The padded length.

    Examples:
        >>> attention_mask(torch.tensor([1, 0]), 2).tolist()
        [[[True, False]], [[True, True]]]
    """
    return (mask_of(lengths, n) | (lengths == 0).unsqueeze(-1)).unsqueeze(1)


def sinusoids(n: int, size: int, like: Tensor) -> Tensor:
    """Return sinusoidal positions: sines and cosines of geometrically spaced frequencies, `(n, size)`.

    Args:
        n: Number of positions.
        size: Number of features; an odd size leaves out the last cosine.
        like: A tensor with the dtype and the device of the result.

    Examples:
        >>> sinusoids(2, 4, torch.zeros(()))[0]
        tensor([0., 0., 1., 1.])
    """
    half = (size + 1) // 2
    frequency = torch.exp(torch.arange(half, device=like.device) * (-math.log(10_000.0) / half))
    angle = torch.arange(n, device=like.device).unsqueeze(-1) * frequency
    return torch.cat([angle.sin(), angle.cos()], -1)[:, :size].to(like.dtype)
