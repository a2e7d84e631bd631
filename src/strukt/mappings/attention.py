"""Scaled dot-product attention with any mapping in place of softmax."""

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
        query: ``(..., heads, l, e)``, l queries of size e.
        key: ``(..., heads, s, e)``, s keys of size e.
        value: ``(..., heads, s, v)``, a value of size v for each key.
        attn_mask: Broadcasts to ``(..., heads, l, s)``: Boolean, True where a query may attend; or scores to add;
            None for no mask.
        dropout_p: The probability of dropping a weight; as in PyTorch, pass 0 in evaluation.
        is_causal: Whether query i attends only to keys 0 to i; not together with ``attn_mask``.
        scale: The factor of the scores; ``1 / sqrt(e)`` by default.
        enable_gqa: Whether each head of keys and values serves several heads of queries, whose number must be a
            multiple of theirs.
        mapping: Function of scores to weights along the last axis, with weight 0 for a score of -inf; sparsemax by
            default.

    Returns:
        ``(..., heads, l, v)``; for a query that may attend to nothing, zeros if the mapping returns zeros for
        scores that are all -inf, as every mapping of this library does.

    Raises:
        ValueError: If ``attn_mask`` holds integers or is set together with ``is_causal``, if ``dropout_p`` is not
            a probability, or if the numbers of heads do not fit with ``enable_gqa``.

    Complexity:
        Time O(l s (e + v)) for each head, plus that of the mapping; memory O(l s).

    Examples:
        >>> import torch
        >>> query, key = torch.zeros(1, 2, 3), torch.zeros(1, 4, 3)
        >>> scaled_dot_product_attention(query, key, torch.ones(1, 4, 2), is_causal=True)
        tensor([[[1., 1.],
                 [1., 1.]]])
    """
    if not 0.0 <= dropout_p <= 1.0:
        raise ValueError(f"dropout_p is {dropout_p}; expected a probability, 0 to 1")
    if attn_mask is not None and is_causal:
        raise ValueError(
            "both attn_mask and is_causal are set; expected only one: combine them in attn_mask"
        )
    if attn_mask is not None and not (attn_mask.dtype == torch.bool or attn_mask.is_floating_point()):
        raise ValueError(
            f"attn_mask has dtype {attn_mask.dtype}; expected Booleans, attn_mask.bool(), or scores to add"
        )
    if enable_gqa:
        key, value = (_for_heads(query, tensor, name) for tensor, name in ((key, "key"), (value, "value")))
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


def _for_heads(query: Tensor, tensor: Tensor, name: str) -> Tensor:
    """Repeat heads of keys or values ``(..., heads, s, e)`` for the heads of queries that share them."""
    if min(query.dim(), tensor.dim()) < 3 or not tensor.shape[-3] or query.shape[-3] % tensor.shape[-3]:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)} and query {tuple(query.shape)}; expected axes (..., heads, "
            f"length, size), with a number of heads of the query that is a multiple of that of {name}"
        )
    return tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], -3)
