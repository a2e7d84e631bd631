"""The Transformer that Wu and Tu (2023) compare with, from its equations: one sentence, in loops over words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

Weights = Mapping[str, torch.Tensor]


def encode(weights: Weights, x: torch.Tensor, layers: int, masks: Iterator[torch.Tensor | float]) -> torch.Tensor:
    """The vectors of words ``(n, d)``; masks are those of words, of positions, and two for each layer."""
    if "places.table" in weights:
        of_words, of_places = next(masks), next(masks)
        places = torch.stack([weights["places.table"][min(i, 511)] for i in range(len(x))])
        x = x * of_words + places * of_places
    for layer in range(layers):
        of = {name.removeprefix(f"layers.{layer}."): weight for name, weight in weights.items()}
        x = norm(x + attention(of, x) * next(masks), of, "attention_norm")
        x = norm(x + feed_forward(of, x) * next(masks), of, "feed_forward_norm")
    return x


def attention(of: Weights, x: torch.Tensor) -> torch.Tensor:
    """Each head has matrices for queries, keys, values and output; distances are those of Shaw et al. (2018)."""
    found = torch.zeros_like(x)
    for query, key, value, output in zip(
        *(of[f"attention.{name}"] for name in ("queries", "keys", "values", "output")), strict=True
    ):
        q, k, v = x @ query, x @ key, x @ value
        for i in range(len(x)):
            scores = [q[i] @ (k[j] + of_distance(of, "attention.distances", j - i)) for j in range(len(x))]
            exp = [(score / q.shape[1] ** 0.5).exp() for score in scores]
            for j in range(len(x)):
                told = v[j] + of_distance(of, "attention.distance_values", j - i)
                found[i] += exp[j] / sum(exp) * told @ output
    return found


def of_distance(of: Weights, name: str, step: int) -> torch.Tensor | float:
    """The vector of a step from a word to one that it attends to, of which the longest are alike."""
    if name not in of:
        return 0.0
    reach = (len(of[name]) - 1) // 2
    return of[name][reach + max(-reach, min(reach, step))]


def feed_forward(of: Weights, x: torch.Tensor) -> torch.Tensor:
    """Two layers with a ReLU between them."""
    hidden = x @ of["feed_forward.0.weight"].T + of["feed_forward.0.bias"]
    return hidden.clamp(min=0) @ of["feed_forward.2.weight"].T + of["feed_forward.2.bias"]


def norm(x: torch.Tensor, of: Weights, name: str) -> torch.Tensor:
    """Layer normalisation."""
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return centred / (variance + 1e-5) ** 0.5 * of[f"{name}.weight"] + of[f"{name}.bias"]
