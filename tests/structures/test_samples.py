"""Both backends draw parts as often as marginals say, in probability space and in log space."""

import pytest
import torch
from tests.kernels.test_backends import CHAINS, normal, pytestmark, sparse, unchanged  # noqa: F401
from tests.structures.ctc.test_backends import build as frames
from tests.structures.low_rank_pcfg import test_backends as low_rank_pcfg
from tests.structures.monotone_alignment.test_backends import build as grid
from tests.structures.pcfg import test_backends as pcfg
from tests.structures.semi_markov.test_backends import KINDS as SEGMENTS
from tests.structures.semi_markov.test_backends import build as segments

from strukt.distributions import BitSpanTree, ProjectiveTree, SpanTree

SLOW = pytest.mark.slow
LENGTHS = torch.tensor([7, 4])

KINDS = {
    **{f"chains, {kind}": lambda kind=kind: CHAINS[kind](8, 3, unchanged) for kind in CHAINS},
    **{f"segments, {kind}": segments(kind, 8, 3, 3, unchanged) for kind in SEGMENTS},
    **{f"steep segments, {kind}": segments(kind, 8, 3, 3, lambda scores: 300 * scores) for kind in SEGMENTS},
    "frames": frames(9, 3, 3, unchanged),
    "paths": grid("per item", 4, 5, unchanged),
    "spans": lambda: (SpanTree(normal(2, 8, 8, 3), LENGTHS), ()),
    "steep spans": lambda: (SpanTree(100 * normal(2, 8, 8, 3), LENGTHS), ()),
    "codes": lambda: (BitSpanTree(normal(2, 8, 8, 3), LENGTHS, negative=normal(2, 8, 8, 3, seed=1)), ()),
    "words": lambda: (ProjectiveTree(normal(2, 7, 8), LENGTHS), ()),
    "words, any root": lambda: (ProjectiveTree(normal(2, 7, 8), LENGTHS, single_root=False), ()),
    "grammar": lambda: pcfg.build(7, 2, 2),
    "sparse grammar": lambda: pcfg.build(7, 2, 2, pcfg.sparse),
    "mixed grammar": lambda: pcfg.build(6, 2, 3, pcfg.mixed),
    "low-rank grammar": lambda: low_rank_pcfg.build(6, 2, 2, 3),
    "sparse low-rank grammar": lambda: low_rank_pcfg.build(6, 2, 2, 3, low_rank_pcfg.sparse, spans=True),
    "mixed low-rank grammar": lambda: low_rank_pcfg.build(5, 2, 3, 3, low_rank_pcfg.mixed, shared=False),
}
"""Functions to a batch and its scores."""

LONG = {kind for kind in KINDS if "segments" in kind and "shared" not in kind} | {"grammar"}


def feasible(distribution):
    """The items that have a structure, without gradients."""
    items = distribution.log_partition.isfinite() & (distribution.lengths > 0)
    assert items.sum() > 1
    scores, constants = (
        tuple(each.detach()[items] if len(each) == len(items) else each.detach() for each in tensors)
        for tensors in (distribution.scores, distribution.constants)
    )
    return distribution._rebuilt(scores, distribution.lengths[items], constants)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=SLOW if kind in LONG else ()) for kind in KINDS])
def test_parts_are_drawn_as_often_as_marginals_say(on, kind, backend):
    on(backend)
    distribution, count = feasible(KINDS[kind]()[0]), 3000
    torch.manual_seed(0)
    events = distribution.sample((count,))
    assert distribution.is_structure(events).all()
    assert distribution.log_prob(events).isfinite().all()
    frequencies = distribution.to_parts(events).mean(0)
    assert (frequencies - distribution.marginals).abs().max() < 5 * 0.5 / count**0.5
