"""Binary trees whose spans have codes; `(batch, n + 1, n + 1, bits)` are the scores of each bit being 1."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from benchmarks import constituency
from benchmarks.contest import Contestant, Family


def strukt_log_partition(bits: Tensor) -> Tensor:
    from strukt.distributions import BitSpanTree

    return BitSpanTree(bits).log_partition


def strukt_mode(bits: Tensor) -> Tensor:
    from strukt.distributions import BitSpanTree

    return BitSpanTree(bits).mode


def _summed(bits: Tensor) -> Tensor:
    """Return the log of the summed weights of all codes of each span, as the score of its only label."""
    return softplus(bits).sum(-1, keepdim=True)


def _best(bits: Tensor) -> Tensor:
    """Return the score of the best code of each span, as the score of its only label."""
    return bits.clamp(min=0.0).sum(-1, keepdim=True)


def _codes(bits: Tensor, tree: Tensor) -> Tensor:
    """Return the best code of each span of trees `(batch, n + 1, n + 1)`, -1 elsewhere."""
    weights = 2 ** torch.arange(bits.shape[-1])
    return torch.where(tree >= 0, ((bits > 0) * weights).sum(-1), -1)


def unlabelled_log_partition(bits: Tensor) -> Tensor:
    from strukt.distributions import SpanTree

    return SpanTree(_summed(bits).squeeze(-1), labelled=False).log_partition


def unlabelled_mode(bits: Tensor) -> Tensor:
    from strukt.distributions import SpanTree

    return SpanTree(_best(bits).squeeze(-1), labelled=False).mode


def torch_struct_log_partition(bits: Tensor) -> Tensor:
    return constituency.torch_struct_log_partition(_summed(bits))


def torch_struct_mode(bits: Tensor) -> Tensor:
    return _codes(bits, constituency.torch_struct_mode(_best(bits)))


def supar_log_partition(bits: Tensor) -> Tensor:
    return constituency.supar_log_partition(_summed(bits))


def supar_mode(bits: Tensor) -> Tensor:
    return _codes(bits, constituency.supar_mode(_best(bits)))


def score(bits: Tensor, event: Tensor) -> Tensor:
    """Return the scores `(batch,)` of trees, `event (batch, n + 1, n + 1)` with codes of spans, in float64."""
    positive = event.clamp(min=0).unsqueeze(-1) >> torch.arange(bits.shape[-1]) & 1 == 1
    return torch.where(positive, bits.double(), 0.0).sum((-1, -2, -3))


FAMILY = Family(
    name="bit-span-tree",
    title="Span tree with codes (batch x words x bits)",
    cases=tuple(
        constituency.case(*sizes) for sizes in ((16, 40, 8), (16, 40, 12), (4, 100, 8), (4, 100, 12))
    ),
    warm_up=constituency.case(2, 4, 3),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode),
        Contestant("torch-struct", torch_struct_log_partition, torch_struct_mode),
        Contestant("supar", supar_log_partition, supar_mode),
        Contestant(
            "unlabelled",
            unlabelled_log_partition,
            unlabelled_mode,
            "strukt without labels, softplus of the bits",
        ),
    ),
    score=score,
)
