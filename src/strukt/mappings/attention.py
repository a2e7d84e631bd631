"""Attention whose weights come from any mapping."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from strukt.mappings.sparsemax_entmax import sparsemax


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    mapping: Callable[[Tensor], Tensor] = sparsemax,
) -> Tensor:
    """Compute `torch.nn.functional.scaled_dot_product_attention` with another mapping in place of softmax.

    Args:
        query: ``(..., heads, l, e)``.
        key: ``(..., heads, s, e)``.
        value: ``(..., heads, s, v)``.
        attn_mask: Broadcasts to ``(..., heads, l, s)``: Boolean, True where a query may attend, or scores to add.
        dropout_p: The probability with which a weight is dropped.
        is_causal: Whether query i sees keys 0 to i only; not together with ``attn_mask``.
        scale: The factor of the scores; ``1 / sqrt(e)`` if None.
        enable_gqa: Whether each head of keys and values serves several heads of queries.
        mapping: Scores to weights, along the last axis; scores of -inf must have the weight 0.

    Returns:
        ``(..., heads, l, v)``. A query that may attend to nothing gets zeros.

    Raises:
        ValueError: If both a mask and ``is_causal`` are given, or ``dropout_p`` is not a probability.

    Examples:
        >>> import torch
        >>> query, key = torch.zeros(1, 2, 3), torch.zeros(1, 4, 3)
        >>> scaled_dot_product_attention(query, key, torch.ones(1, 4, 2), is_causal=True)
        tensor([[[1., 1.],
                 [1., 1.]]])
    """
    if not 0.0 <= dropout_p <= 1.0:
        raise ValueError(f"dropout_p is {dropout_p}; expected a probability")
    if attn_mask is not None and is_causal:
        raise ValueError(
            "both attn_mask and is_causal are given; expected one of them: add the mask of one to the other"
        )
    if enable_gqa:
        key, value = (
            tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], -3) for tensor in (key, value)
        )
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = factor * query @ key.transpose(-2, -1)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None:
        scores = (
            scores.masked_fill(~attn_mask, -torch.inf)
            if attn_mask.dtype == torch.bool
            else scores + attn_mask
        )
    return torch.dropout(mapping(scores), dropout_p, train=True) @ value
