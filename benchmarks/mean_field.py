"""The Probabilistic Transformer in its decompositions, beside its published form and a Transformer of equal sizes.

Inputs are scores of labels `(batch, n, d)`; factors `(d, f, h, r)` for each distance and channel, for each
distance, and for each channel; weights and biases of distances; and the weights of a Transformer, a row for each
iteration. The published implementation is not on the package index; *torch* repeats its computation: for each
bucket of distances a product of n x n numbers, most of which are discarded. For scale, the decompositions that
share factors are also timed, and a Transformer of the same sizes with a feed-forward layer of 4d, with attention
fused and written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.contest import Case, Contestant, Family, Outputs, forward
from benchmarks.page import section_command
from benchmarks.report import table
from benchmarks.steps import in_turn

LABELS, CHANNELS, RANK, ITERATIONS, REACH = 384, 16, 64, 5, 3
"""The published sizes for masked language models."""

TABLES = 2 * REACH + 2
WEIGHTS = 4 * LABELS * CHANNELS * RANK + 8 * LABELS**2
"""The number of weights of a layer of a Transformer, without biases and norms."""


@cache
def _encoder(decomposition: str, iterations: int) -> Any:
    from strukt.nn import MeanFieldEncoder

    sizes = {"channels": CHANNELS, "iterations": iterations, "rank": RANK, "distance": REACH}
    return MeanFieldEncoder(LABELS, LABELS, projected=False, decomposition=decomposition, **sizes)


def _encoded(decomposition: str, scores: Tensor, layers: Tensor, **parameters: Tensor) -> Tensor:
    named = {f"mean_field.ternary.{name}": value for name, value in parameters.items()}
    encoder = _encoder(decomposition, len(layers)).to(scores.device)
    encoded: Tensor = torch.func.functional_call(encoder, named, scores)
    return encoded


def uv(scores: Tensor, left: Tensor, right: Tensor, *rest: Tensor) -> Tensor:
    return _encoded("uv", scores, rest[-1], left=left / 8, right=right / 8)


def uvw(scores: Tensor, *rest: Tensor) -> Tensor:
    left, right, weights = rest[2], rest[3], rest[6]
    return _encoded("uvw", scores, rest[-1], left=left / 8, right=right / 8, weights=weights / 8)


def weighted(scores: Tensor, *rest: Tensor) -> Tensor:
    left, right, weights = rest[4:7]
    return _encoded("weighted", scores, rest[-1], left=left / 8, right=right / 8, weights=weights)


def biased(scores: Tensor, *rest: Tensor) -> Tensor:
    left, right, biases = rest[4], rest[5], rest[7]
    return _encoded("biased", scores, rest[-1], left=left / 8, right=right / 8, biases=biases)


def torch_scores(scores: Tensor, left: Tensor, right: Tensor, *rest: Tensor) -> Tensor:
    """Return the scores of labels by the computation of the published implementation."""
    n = scores.shape[1]
    place = torch.arange(n, device=scores.device)
    distance = place[:, None] - place
    clipped = distance.clamp(-REACH - 1, REACH + 1) + REACH + 1
    bucket = clipped - (distance > 0).long()
    masks = torch.stack([bucket == f for f in range(TABLES)])[:, None, None].to(scores)
    left, right = left / 8, right / 8
    own = distance == 0
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
    """Return the outputs of a Transformer whose layers normalise their inputs (pre-norm)."""
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


def step(contestant: Contestant, inputs: tuple[Tensor, ...]) -> Outputs:
    """Return the scores, and the gradient of a weighted sum of them for all inputs on which they depend."""
    leaves = [score.detach().requires_grad_() for score in inputs]
    value = contestant.compute(*leaves)
    weights = torch.linspace(-1.0, 1.0, value.numel(), device=value.device).view_as(value)
    grads = torch.autograd.grad((value * weights).sum(), leaves, allow_unused=True)
    return (value.detach(), *(grad for grad in grads if grad is not None))


def case(batch: int, n: int, iterations: int) -> Case:
    factors, of_distances, of_channels = (
        (LABELS, places, channels, RANK)
        for places, channels in ((TABLES, CHANNELS), (TABLES, 1), (1, CHANNELS))
    )
    weights = (TABLES, CHANNELS, RANK)
    pairs = (factors, factors, of_distances, of_distances, of_channels, of_channels)
    shapes = ((batch, n, LABELS), *pairs, weights, weights[:2], (iterations, WEIGHTS))
    return Case(f"{batch}x{n}x{iterations}", shapes)


FAMILY = Family(
    name="probabilistic-transformer",
    title=f"Probabilistic Transformer (batch x n x iterations): d {LABELS}, h {CHANNELS}, r {RANK}",
    # At n = 1,024 an iteration of the dense form with its gradient takes several GB.
    cases=(case(8, 64, ITERATIONS), case(2, 256, ITERATIONS), case(1, 1024, 1)),
    warm_up=case(1, 5, 2),
    contestants=(
        Contestant("strukt", uv),
        Contestant("torch", torch_scores),
        Contestant("uvw", uvw, yardstick="strukt, decomposition uvw"),
        Contestant("weighted", weighted, yardstick="strukt, decomposition weighted"),
        Contestant("biased", biased, yardstick="strukt, decomposition biased"),
        Contestant("transformer", transformer, yardstick="a Transformer of these sizes"),
        Contestant("materialised", materialised_transformer, yardstick="the same, attention not fused"),
    ),
    operations={"forward": forward, "gradient": step},
)

DECOMPOSITIONS: Mapping[str, Callable[..., Tensor]] = {
    "`uv`": uv,
    "`uvw`": uvw,
    "`weighted`": weighted,
    "`biased`": biased,
}


def ratios(measured: Case, turns: int, slice_: float) -> Iterator[float]:
    """Yield the time of a training step with each decomposition, as a multiple of the Transformer's (fused)."""

    def action(compute: Callable[..., Tensor]) -> Callable[[], Outputs]:
        return lambda: step(Contestant("", compute), inputs)

    inputs = measured.inputs()
    actions = tuple(map(action, (transformer, *DECOMPOSITIONS.values())))
    for each in actions:
        each()  # compiles and allocates
    first, *seconds = in_turn(actions, turns, slice_)
    yield from (spent / first for spent in seconds)


def report(cases: tuple[Case, ...] = FAMILY.cases, turns: int = 7, slice_: float = 0.1) -> str:
    """Return one table, with a row for each case."""
    rows = ([each.name, *(f"{ratio:.2f}" for ratio in ratios(each, turns, slice_))] for each in cases)
    return table(["batch x n x iterations", *(f"{name}, x" for name in DECOMPOSITIONS)], rows)


if __name__ == "__main__":
    section_command("mean_field", "mean-field-steps", __doc__, report)
