"""The Transformer baseline published with the Probabilistic Transformer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from strukt.inference.settings import require_one_of
from strukt.nn.encoders import SentenceEncoder
from strukt.nn.inputs import require_sizes
from strukt.nn.relative_attention import relative_attention
from strukt.nn.transformer import Positions, TransformerLayer, attention_mask, size_of_head

PLACES = 512
"""The number of positions with a learned vector."""

INPUT_DROPOUT = 0.1
"""Dropout of words and of their positions, independent of the dropout of layers."""


class PublishedTransformer(SentenceEncoder):
    """The Transformer baseline of Wu and Tu (2023): learned positions, and no biases in attention.

    There is no input projection. Each layer normalises after its attention and after its feed-forward network
    with ReLU (post-norm). Dropout acts on attention weights and on the outputs of both. Absolute positions are
    learned vectors that are added to the words, with a dropout of 0.1 for words and positions; words beyond
    the 512th share the last position. Takes O(n^2) time and memory for n words.

    Source: Wu and Tu (2023), "Probabilistic Transformer: a probabilistic dependency model for contextual word
    representation", section 4 and appendix C, and the code that they published; Shaw et al. (2018) for relative
    positions.

    Args:
        size: Size of the input and the output vectors.
        layers: Number of layers.
        heads: Number of attention heads.
        dropout: Dropout in every layer.
        feed_forward: Size of the hidden layer of the feed-forward networks; four times `size` if None.
        head_size: Size of a head; if None, `size` divided by `heads`, which must be a whole number.
        positions: ``absolute`` or ``relative``.
        reach: Maximum relative distance; longer distances share its vectors. Only for relative positions.
        distance_values: Whether vectors of relative distances are added to the values, too, not only to the keys.
            Only for relative positions.

    Raises:
        ValueError: If a size, `layers`, `heads` or `reach` is less than 1, `heads` does not divide `size` and
            `head_size` is None, the positions are unknown, or `dropout` is not a probability.

    Examples:
        >>> encoder = PublishedTransformer(16, layers=2, heads=4)
        >>> encoder(torch.randn(2, 5, 16), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(
        self,
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
    ) -> None:
        super().__init__()
        require_sizes(size=size, layers=layers, heads=heads)
        require_one_of("positions", positions, ("absolute", "relative"))
        head_size = size_of_head(size, heads, head_size)
        feed_forward = 4 * size if feed_forward is None else feed_forward
        require_sizes(head_size=head_size, feed_forward=feed_forward, reach=reach)
        self.inputs = self.size = size
        is_absolute = positions == "absolute"
        distances = None if is_absolute else reach
        self.places = _Places(size) if is_absolute else nn.Identity()
        self.layers = nn.ModuleList(
            TransformerLayer(
                size,
                _Attention(size, heads, head_size, distances, distance_values, dropout),
                _feed_forward(size, feed_forward),
                dropout,
                norm_first=False,
            )
            for _ in range(layers)
        )

    def _encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = attention_mask(lengths, x.shape[1])
        x = self.places(x)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class _Places(nn.Module):
    """A learned vector for each position, added to the word at this position."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(PLACES, size))
        self.dropout = nn.Dropout(INPUT_DROPOUT)

    def forward(self, x: Tensor) -> Tensor:
        """Add positions to `(batch, n, size)`; all sentences of a batch share the dropout mask of positions."""
        places = torch.arange(x.shape[1], device=x.device).clamp(max=PLACES - 1)
        result: Tensor = self.dropout(x) + self.dropout(self.table[places])
        return result


class _Attention(nn.Module):
    """Self-attention with separate matrices for each head in one tensor, initialised by `xavier_normal_`.

    PyTorch treats the axes after the second as a receptive field, so that the variance is
    2 / ((size + heads) head_size) for queries, keys and values, and 2 / ((head_size + heads) size) for the output.
    """

    def __init__(
        self, size: int, heads: int, head_size: int, reach: int | None, distance_values: bool, rate: float
    ) -> None:
        super().__init__()
        self.rate = rate
        self.queries, self.keys, self.values = (_matrices(heads, size, head_size) for _ in range(3))
        self.output = _matrices(heads, head_size, size)
        self.distances = self.distance_values = None
        if reach is not None:
            self.distances = nn.Parameter(torch.randn(2 * reach + 1, head_size))
        if reach is not None and distance_values:
            self.distance_values = nn.Parameter(torch.randn(2 * reach + 1, head_size))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Attend, given `(batch, n, size)` and the attention mask `(batch, n, n)` or `(batch, 1, n)`."""
        queries, keys, values = (
            torch.einsum("bns,hsk->bhnk", x, weight) for weight in (self.queries, self.keys, self.values)
        )
        rate = self.rate if self.training else 0.0
        if self.distances is None:
            result = scaled_dot_product_attention(queries, keys, values, mask.unsqueeze(1), rate)
        else:
            of_keys, of_values = self.distances, self.distance_values
            result = relative_attention(queries, keys, values, mask, of_keys, of_values, rate)
        return torch.einsum("bhnk,hks->bns", result, self.output)


def _matrices(heads: int, rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_normal_(torch.empty(heads, rows, columns)))


def _feed_forward(size: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, size))
