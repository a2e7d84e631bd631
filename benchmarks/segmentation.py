"""Labelled segments of at most `longest` positions: `(batch, n, longest, labels)`, and one matrix of transitions.

torch-struct's algorithm squares matrices of (longest x labels)^2 and takes gigabytes here; supar 1.1.4 has no
segments.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from benchmarks import gold
from benchmarks.contest import TRAINING, Case, Contestant, Family, Loss

IMPOSSIBLE = -1e9


def strukt_log_partition(segments: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import SemiMarkov

    return SemiMarkov(segments, transition).log_partition


def strukt_mode(segments: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import SemiMarkov

    return SemiMarkov(segments, transition).mode


def strukt_loss(event: Tensor, *_: Tensor) -> Loss:
    from strukt.distributions import SemiMarkov

    return lambda *scores: -SemiMarkov(*scores).log_prob(event).mean()


def _edges(segments: Tensor, transition: Tensor) -> Tensor:
    """Return the score of each segment with its label and the label before it, 0 for the first segment."""
    edges = segments.unsqueeze(-1) + transition.mT
    first = segments[:, :1].unsqueeze(-1)
    before = torch.full_like(edges[:, :1, ..., 1:], IMPOSSIBLE)
    return torch.cat([torch.cat([first, before], -1), edges[:, 1:]], 1)


def flash_semicrf_log_partition(segments: Tensor, transition: Tensor) -> Tensor:
    from flash_semicrf.semimarkov import SemiMarkov

    log_partition: Tensor = SemiMarkov().sum(_edges(segments, transition), use_linear_scan=True)
    return log_partition


def flash_semicrf_mode(segments: Tensor, transition: Tensor) -> Tensor:
    """Return the mode, which flash-semicrf computes as a gradient."""
    from flash_semicrf.semimarkov import SemiMarkov
    from flash_semicrf.semirings import MaxSemiring

    with torch.enable_grad():
        used = SemiMarkov(MaxSemiring).marginals(_edges(segments, transition), use_linear_scan=True).detach()
    labels = used.sum((2, 4))
    return torch.where((labels > 0).any(-1), labels.argmax(-1), -1)


def flash_semicrf_loss(event: Tensor, segments: Tensor, transition: Tensor) -> Loss:
    """Return flash-semicrf's loss by its structure: its layer takes scores of positions and durations only.

    Its events are 0/1 entries `[start, duration - 1, label, label before]`; the label before the first is 0.
    """
    from flash_semicrf.semimarkov import SemiMarkov

    parts = segments.new_zeros(*segments.shape, len(transition))
    for item, start, end, label, before in _listed(event):
        parts[item, start, end - start - 1, label, before if start else 0] = 1

    def loss(segments: Tensor, transition: Tensor) -> Tensor:
        edges = _edges(segments, transition)
        model = SemiMarkov()
        found: Tensor = (model.sum(edges, use_linear_scan=True) - model.score(edges, parts)).mean()
        return found

    return loss


def gold_segments(segments: Tensor, _: Tensor) -> Tensor:
    return gold.segments(*segments.shape)


def _listed(event: Tensor) -> list[tuple[int, int, int, int, int]]:
    """List item, first position, end, label and previous label (-1 at the start) of each segment."""
    segments = []
    for item, labels in enumerate(event.tolist()):
        starts = [start for start, label in enumerate(labels) if label >= 0]
        ends, before = [*starts[1:], len(labels)], [-1, *(labels[start] for start in starts[:-1])]
        segments += [(item, i, j, labels[i], last) for i, j, last in zip(starts, ends, before, strict=True)]
    return segments


def score(segments: Tensor, transition: Tensor, event: Tensor) -> Tensor:
    """Return the scores `(batch,)` of segmentations `(batch, n)`, in float64."""
    item, start, end, label, before = torch.tensor(_listed(event)).unbind(-1)
    following = pad(transition.double(), (0, 0, 0, 1))  # the last row, of zeros, is for the label -1 at the start
    each = segments.double()[item, start, end - start - 1, label] + following[before, label]
    return each.new_zeros(len(event)).index_add(0, item, each)


def case(batch: int, n: int, longest: int, labels: int) -> Case:
    shapes = ((batch, n, longest, labels), (labels, labels))
    return Case(f"{batch}x{n}, segments up to {longest}, {labels} labels", shapes)


FAMILY = Family(
    name="semi-markov",
    title="Segmentation (batch x positions)",
    cases=(case(8, 128, 8, 16), case(1, 128, 8, 16), case(1, 20, 8, 10)),
    warm_up=case(2, 5, 3, 2),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode, learn=strukt_loss),
        Contestant(
            "flash-semicrf", flash_semicrf_log_partition, flash_semicrf_mode, learn=flash_semicrf_loss
        ),
    ),
    score=score,
    operations=TRAINING,
    gold=gold_segments,
)
