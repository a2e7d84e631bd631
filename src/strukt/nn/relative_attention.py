"""Attention with relative positions: a vector for each distance between two words."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention


def relative_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    of_keys: Tensor,
    of_values: Tensor | None = None,
    rate: float = 0.0,
) -> Tensor:
    """Attend to words, with vectors of relative distances added to keys and values.

    Source: Shaw et al. (2018), equations 3 and 4. It takes `O(n^2)` time and memory for each head, because no pair
    of words has a separate vector: pairs at the same distance share one.

    Args:
        queries: `(batch, heads, n, size)`.
        keys: `(batch, heads, n, size)`.
        values: `(batch, heads, n, size)`.
        mask: The attention mask, `(batch, n, n)` or `(batch, 1, n)`: True where the word of the row attends to the
            word of the column. Each word must attend to at least one.
        of_keys: `(2 * reach + 1, size)`, vectors added to the keys of words from `reach` to the left to `reach` to
            the right; more distant words share the outermost vectors.
        of_values: `(2 * reach + 1, size)`, vectors added to the values in the same way; None to add nothing.
        rate: Dropout rate of the attention weights, which is always applied: pass 0 in evaluation.

    Returns:
        `(batch, heads, n, size)`.

    Examples:
        >>> words, mask = torch.zeros(1, 1, 2, 1), torch.ones(1, 2, 2, dtype=torch.bool)
        >>> steps = torch.tensor([[-1.0], [0.0], [1.0]])
        >>> relative_attention(words, words, words, mask, steps, steps).flatten()
        tensor([ 0.5000, -0.5000])
    """
    n, reach = queries.shape[2], len(of_keys) // 2
    places = torch.arange(n, device=queries.device)
    steps = (places - places.unsqueeze(-1)).clamp(-reach, reach) + reach
    steps = steps.expand(*queries.shape[:2], n, n)
    scale = 1 / math.sqrt(queries.shape[-1])
    bias = (queries @ of_keys.T * scale).gather(-1, steps)
    bias = bias.masked_fill(~mask.unsqueeze(1), -torch.inf)
    if of_values is None:
        return scaled_dot_product_attention(queries, keys, values, bias, rate)
    weights = functional.dropout((queries @ keys.mT * scale + bias).softmax(-1), rate)
    by_distance = weights.new_zeros(*weights.shape[:3], len(of_values))
    by_distance = by_distance.scatter_add(-1, steps, weights)
    return weights @ values + by_distance @ of_values
