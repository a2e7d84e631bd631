"""Contrastive hashing of spans in two views: scores `(2, spans, bits, 3)`.

Of the softmax over the last axis, the first two entries are the marginals of a bit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.contest import Case, Contestant, Family, forward, gradient

LABELS = 30
TEMPERATURE = 0.1


def _views(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the marginals of both views, and the label of each span."""
    first, second = scores.softmax(-1)[..., :2].unbind(0)
    return first, second, torch.arange(len(first)) % LABELS


def strukt_loss(scores: Tensor) -> Tensor:
    from strukt.losses import contrastive_hashing

    return contrastive_hashing(*_views(scores), temperature=TEMPERATURE)


def torch_loss(scores: Tensor) -> Tensor:
    """Return the loss computed by its formula, over all pairs of spans."""
    first, second, labels = _views(scores)
    same = labels[:, None] == labels
    rest = same & ~torch.eye(len(labels), dtype=torch.bool)
    total = torch.zeros(())
    for marginals, others in ((first, second), (second, first)):
        positive = others[..., 1] > others[..., 0]
        codes = torch.stack([~positive, positive], -1).to(marginals.dtype)
        similarity = marginals.flatten(1) @ codes.flatten(1).T / (marginals.shape[1] * TEMPERATURE)
        apart = similarity.masked_fill(rest, -torch.inf).logsumexp(-1)
        together = similarity.masked_fill(~same, -torch.inf).logsumexp(-1)
        total = total + (apart - together).mean()
    return total


def case(spans: int, bits: int) -> Case:
    return Case(f"{spans}x{bits}", ((2, spans, bits, 3),))


FAMILY = Family(
    name="contrastive-hashing",
    title="Contrastive hashing (spans x bits)",
    cases=tuple(case(spans, bits) for bits in (8, 12) for spans in (1000, 2000, 4000, 8000)),
    warm_up=case(40, 3),
    contestants=(Contestant("strukt", strukt_loss), Contestant("torch", torch_loss)),
    operations={"forward": forward, "gradient": gradient},
)
