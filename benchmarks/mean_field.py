"""The Probabilistic Transformer: scores of labels `(batch, n, d)`, factors `(d, 2g + 3, h, r)` of ternary scores.

The published implementation is not on the package index: *torch* is what it computes, a product of n x n numbers
for each bucket of distances, of which most are thrown away. Beside it, for scale, the same encoder with factors
that distances share, the next three inputs, with these and a bias for each distance (the numbers before the last
input), and a Transformer of the same sizes with a feed-forward layer of 4d,
whose weights are the last input, with fused attention and with that written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.contest import Answer, Case, Contestant, Family, forward

LABELS, CHANNELS, RANK, ITERATIONS, REACH = 384, 16, 64, 5, 3
"""The setting of the paper for masked language models; the last input has as many rows as there are iterations."""

TABLES = 2 * REACH + 3
WEIGHTS = 4 * LABELS * CHANNELS * RANK + 8 * LABELS**2
"""Numbers in a layer of a Transformer, without biases and norms."""


@cache
def _model(decomposition: str, iterations: int) -> Any:
    from strukt.nn import ProbabilisticTransformer

    return ProbabilisticTransformer(
        LABELS, CHANNELS, iterations, RANK, distance=REACH, shared=True, decomposition=decomposition
    )


def strukt_scores(scores: Tensor, left: Tensor, right: Tensor, *rest: Tensor) -> Tensor:
    given = {"ternary.left": left / 8, "ternary.right": right / 8}
    found: Any = torch.func.functional_call(_model("uv", len(rest[-1])), given, scores)
    return found.scores


def strukt_weighted_scores(scores: Tensor, *rest: Tensor) -> Tensor:
    left, right, weights, _, layers = rest[-5:]
    given = {"ternary.left": left / 8, "ternary.right": right / 8, "ternary.weights": weights}
    found: Any = torch.func.functional_call(_model("weighted", len(layers)), given, scores)
    return found.scores


@cache
def _biased_encoder(iterations: int) -> Any:
    from strukt.nn import MeanFieldEncoder

    sizes = {"channels": CHANNELS, "iterations": iterations, "rank": RANK, "distance": REACH}
    return MeanFieldEncoder(LABELS, LABELS, projected=False, decomposition="biased", **sizes)


def strukt_biased_scores(scores: Tensor, *rest: Tensor) -> Tensor:
    left, right, _, biases, layers = rest[-5:]
    given = {"left": left / 8, "right": right / 8, "biases": biases}
    given = {f"mean_field.ternary.{name}": value for name, value in given.items()}
    found: Tensor = torch.func.functional_call(_biased_encoder(len(layers)), given, scores)
    return found


def torch_scores(scores: Tensor, left: Tensor, right: Tensor, *rest: Tensor) -> Tensor:
    n = scores.shape[1]
    distance = torch.arange(n)[:, None] - torch.arange(n)
    clipped = distance.clamp(-REACH - 1, REACH + 1) + REACH + 1
    bucket = clipped - (distance > 0).long()
    masks = torch.stack([bucket == f for f in range(TABLES - 1)] + [torch.ones(n, n, dtype=torch.bool)])
    masks = masks[:, None, None].to(scores)
    left, right = left / 8, right / 8
    own = torch.eye(n, dtype=torch.bool)
    found, labels = scores, scores.softmax(-1)
    for _ in rest[-1]:
        dependents = torch.einsum("bnd,dfhr->fbhnr", labels, left)
        heads = torch.einsum("bnd,dfhr->fbhnr", labels, right)
        message = ((dependents @ heads.mT) * masks).sum(0)
        attention = (message * LABELS).masked_fill(own, -torch.inf).softmax(-1)
        each = attention * masks
        found = scores + torch.einsum("fbhnr,dfhr->bnd", each @ heads, left)
        found = found + torch.einsum("fbhnr,dfhr->bnd", each.mT @ dependents, right)
        labels = found.softmax(-1)
    return found


def materialised(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (queries @ keys.mT * RANK**-0.5).softmax(-1) @ values


def transformer(x: Tensor, *rest: Tensor) -> Tensor:
    return _transformer(x, rest[-1], functional.scaled_dot_product_attention)


def materialised_transformer(x: Tensor, *rest: Tensor) -> Tensor:
    return _transformer(x, rest[-1], materialised)


def _transformer(x: Tensor, layers: Tensor, attention: Callable[..., Tensor]) -> Tensor:
    batch, n, d = x.shape
    inner = CHANNELS * RANK
    sizes = [(3 * inner, d), (d, inner), (4 * d, d), (d, 4 * d)]
    for layer in layers:
        parts = layer.split([a * b for a, b in sizes])
        project, output, widen, narrow = (
            0.05 * part.view(size) for part, size in zip(parts, sizes, strict=True)
        )
        normed = functional.layer_norm(x, (d,))
        heads = functional.linear(normed, project).view(batch, n, 3, CHANNELS, RANK).permute(2, 0, 3, 1, 4)
        attended = attention(*heads)
        x = x + functional.linear(attended.transpose(1, 2).flatten(2), output)
        hidden = functional.gelu(functional.linear(functional.layer_norm(x, (d,)), widen))
        x = x + functional.linear(hidden, narrow)
    return x


def step(contestant: Contestant, inputs: tuple[Tensor, ...]) -> Answer:
    """The scores and the gradient of a weighted sum of them in all that they depend on."""
    leaves = [score.detach().requires_grad_() for score in inputs]
    value = contestant.compute(*leaves)
    weights = torch.linspace(-1.0, 1.0, value.numel()).view_as(value)
    grads = torch.autograd.grad((value * weights).sum(), leaves, allow_unused=True)
    return (value.detach(), *(grad for grad in grads if grad is not None))


def case(batch: int, n: int, iterations: int) -> Case:
    factors, shared = ((LABELS, places, CHANNELS, RANK) for places in (TABLES, 1))
    weights = (TABLES - 1, CHANNELS, RANK)
    of_distances = (weights, weights[:2])
    shapes = ((batch, n, LABELS), factors, factors, shared, shared, *of_distances, (iterations, WEIGHTS))
    return Case(f"{batch}x{n}x{iterations}", shapes, chart=batch * CHANNELS * n * n)


FAMILY = Family(
    name="probabilistic-transformer",
    title=f"Probabilistic Transformer (batch x n x iterations): d {LABELS}, h {CHANNELS}, r {RANK}",
    # At n = 1,024 an iteration of the dense form with its gradient takes several GB.
    cases=(case(8, 64, ITERATIONS), case(2, 256, ITERATIONS), case(1, 1024, 1)),
    warm_up=case(1, 5, 2),
    contestants=(
        Contestant("strukt", strukt_scores),
        Contestant("torch", torch_scores),
        Contestant("weighted", strukt_weighted_scores, yardstick="strukt, factors shared by distances"),
        Contestant("biased", strukt_biased_scores, yardstick="strukt, a bias for each distance"),
        Contestant("transformer", transformer, yardstick="a Transformer of these sizes"),
        Contestant("materialised", materialised_transformer, yardstick="the same, attention not fused"),
    ),
    operations={"forward": forward, "gradient": step},
)
