"""Segments of at most so many positions with labels: `(batch, n, longest, labels)`, one matrix of transitions.

torch-struct's algorithm squares matrices of (longest x labels)^2 and takes gigabytes here; supar 1.1.4 has none.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.contest import Case, Contestant, Family

IMPOSSIBLE = -1e9


def strukt_log_partition(segments: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import SemiMarkov

    return SemiMarkov(segments, transition).log_partition


def strukt_mode(segments: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import SemiMarkov

    return SemiMarkov(segments, transition).mode


def _edges(segments: Tensor, transition: Tensor) -> Tensor:
    """A score for each label of a segment and of the one before it; before the first stands label 0."""
    edges = segments.unsqueeze(-1) + transition.mT
    first = segments[:, :1].unsqueeze(-1)
    before = torch.full_like(edges[:, :1, ..., 1:], IMPOSSIBLE)
    return torch.cat([torch.cat([first, before], -1), edges[:, 1:]], 1)


def flash_semicrf_log_partition(segments: Tensor, transition: Tensor) -> Tensor:
    from flash_semicrf.semimarkov import SemiMarkov

    found: Tensor = SemiMarkov().sum(_edges(segments, transition), use_linear_scan=True)
    return found


def flash_semicrf_mode(segments: Tensor, transition: Tensor) -> Tensor:
    """The best structure is a gradient."""
    from flash_semicrf.semimarkov import SemiMarkov
    from flash_semicrf.semirings import MaxSemiring

    with torch.enable_grad():
        used = SemiMarkov(MaxSemiring).marginals(_edges(segments, transition), use_linear_scan=True).detach()
    labels = used.sum((2, 4))
    return torch.where((labels > 0).any(-1), labels.argmax(-1), -1)


def score(segments: Tensor, transition: Tensor, event: Tensor) -> Tensor:
    """Score of segmentations `(batch, n)`, in float64, by the distribution itself."""
    from strukt.distributions import SemiMarkov

    return SemiMarkov(segments.double(), transition.double()).score(event)


def case(batch: int, n: int, longest: int, labels: int) -> Case:
    return Case(
        f"{batch}x{n}, segments up to {longest}, {labels} labels",
        ((batch, n, longest, labels), (labels, labels)),
        chart=batch * n * labels,
    )


FAMILY = Family(
    name="semi-markov",
    title="Segmentation (batch x positions)",
    cases=(case(8, 128, 8, 16), case(1, 128, 8, 16)),
    warm_up=case(2, 5, 3, 2),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode),
        Contestant("flash-semicrf", flash_semicrf_log_partition, flash_semicrf_mode),
    ),
    score=score,
)
