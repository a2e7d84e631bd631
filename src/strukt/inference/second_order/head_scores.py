"""Second-order dependency scores: one head for each word, and a score for each pair of adjacent arcs.

    score(heads) = sum_m arcs[m, heads[m]]
                 + sum over pairs {m, k} with one head h     of siblings[m, k, h]
                 + sum over m whose head is word k + 1       of grandparents[m, k, heads[k]]

Any combination of heads is allowed, so that cycles have positive probability. With trees alone, even the best
one would be NP-hard to find (McDonald and Satta 2007). A tree is decoded from the marginals instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.kernels.semiring import NEG_INF


@dataclass(frozen=True)
class SecondOrderScores:
    """Scores with neutral padding: unused entries are -inf for arcs and 0 for pairs of arcs.

    Attributes:
        arcs: ``batch + (n, n + 1)``; ``[m, h]`` is the score of head h for word m + 1.
        siblings: ``batch + (n, n, n + 1)``; ``[m, k, h]`` is the score of head h for both words; symmetric.
        grandparents: ``batch + (n, n, n + 1)``; ``[m, k, h]`` is the score of head k + 1 for word m + 1 and head h
            for word k + 1.
        words: ``batch + (n,)``, mask of the words within the lengths.
        pairs: ``batch + (n, n)``, mask of the pairs of two different words within the lengths.
    """

    arcs: Tensor
    siblings: Tensor
    grandparents: Tensor
    words: Tensor
    pairs: Tensor


def second_order_scores(
    arcs: Tensor, siblings: Tensor | None, grandparents: Tensor | None, lengths: Lengths | None
) -> SecondOrderScores:
    """Check the scores and convert them to float32 or wider; arguments are those of `mean_field`.

    Raises:
        ValueError: If shapes or values do not fit.
    """
    _require_floating("arcs", arcs)
    if arcs.dim() < 2 or arcs.shape[-1] != arcs.shape[-2] + 1:
        raise ValueError(
            f"arcs has shape {tuple(arcs.shape)}; expected batch + (n, n + 1): a row for each word, with a column "
            "for each head, the root first"
        )
    batch, n = arcs.shape[:-2], arcs.shape[-2]
    shape = torch.Size([*batch, n, n, n + 1])
    siblings = _pair_scores("siblings", siblings, shape, arcs)
    grandparents = _pair_scores("grandparents", grandparents, shape, arcs)
    dtype = torch.float32
    for scores in (arcs, siblings, grandparents):
        dtype = torch.promote_types(dtype, scores.dtype)
    arcs, siblings, grandparents = (scores.to(dtype) for scores in (arcs, siblings, grandparents))
    lengths = arguments.lengths(lengths, batch, n, arcs.device)
    _require_numbers(arcs, siblings, grandparents, lengths)
    position = torch.arange(n, device=arcs.device)
    words = position < lengths.unsqueeze(-1)
    heads = torch.arange(n + 1, device=arcs.device) <= lengths.unsqueeze(-1)
    other = torch.arange(n + 1, device=arcs.device) != position.unsqueeze(-1) + 1  # no word heads itself
    used = words.unsqueeze(-1) & heads.unsqueeze(-2) & other
    pairs = words.unsqueeze(-1) & words.unsqueeze(-2) & (position != position.unsqueeze(-1))
    triples = pairs.unsqueeze(-1) & used.unsqueeze(-2) & used.unsqueeze(-3)
    siblings = torch.where(triples, siblings, 0.0)
    return SecondOrderScores(
        arcs=torch.where(used, arcs, NEG_INF),
        siblings=0.5 * (siblings + siblings.transpose(-2, -3)),
        grandparents=torch.where(triples, grandparents, 0.0),
        words=words,
        pairs=pairs,
    )


def _require_floating(name: str, value: Tensor) -> None:
    """Raise ValueError unless a value is a tensor of floating-point numbers."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        kind = f"of dtype {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
        raise ValueError(f"{name} is {kind}; expected a floating-point tensor, e.g. {name}.float()")


def _pair_scores(name: str, value: Tensor | None, shape: torch.Size, arcs: Tensor) -> Tensor:
    """Check the scores of pairs of arcs and return them in full shape; zeros by default."""
    if value is None:
        return arcs.new_zeros(()).expand(shape)
    _require_floating(name, value)
    if value.device != arcs.device:
        raise ValueError(
            f"{name} is on {value.device} and arcs on {arcs.device}; move both to the same device"
        )
    if value.shape not in (shape, shape[-3:]):
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, which does not fit arcs of shape {tuple(arcs.shape)}; "
            f"expected {tuple(shape)}, or {tuple(shape[-3:])} for all items"
        )
    return value.expand(shape)


def _require_numbers(arcs: Tensor, siblings: Tensor, grandparents: Tensor, lengths: Tensor) -> None:
    """Raise ValueError if a score within the lengths is NaN, +inf or too large."""
    items, (n, heads) = lengths.numel(), arcs.shape[-2:]
    flat = lengths.reshape(items)
    guards.require_scores(arcs.reshape(items, n, heads), flat, [0, 1], "arcs")
    guards.require_scores(siblings.reshape(items, n, n, heads), flat, [0, 0, 1], "siblings")
    guards.require_scores(grandparents.reshape(items, n, n, heads), flat, [0, 0, 1], "grandparents")
