"""Kernels on four threads have the same bits in every run, and the numbers of one thread."""

import pytest
import torch
from tests.kernels.test_backends import CHAINS, TREES, lengths, normal, pytestmark, unchanged  # noqa: F401
from tests.structures.ctc.test_backends import build as frames
from tests.structures.low_rank_pcfg.test_backends import build as low_rank_grammar
from tests.structures.monotone_alignment.test_backends import build as grid
from tests.structures.pcfg.test_backends import build as grammar
from tests.structures.semi_markov.test_backends import build as segments
from tests.structures.transducer.test_backends import build as lattice

from strukt import PCFG, KSubset


def trees(kind):
    make, single_root = TREES[kind]
    arcs = normal(5, 31, 32).requires_grad_()
    return make(arcs, lengths(31), single_root=single_root), (arcs,)


def subsets():
    scores = normal(9, 300).requires_grad_()
    return KSubset(scores, (10, 20), torch.arange(9) * 5 + 200), (scores,)


KINDS = {
    **{f"chain, {kind}": lambda kind=kind: CHAINS[kind](40, 33, unchanged) for kind in CHAINS},
    **{kind: lambda kind=kind: trees(kind) for kind in TREES},
    "segments": segments("shared", 64, 8, 16, unchanged),
    "frames": frames(300, 40, 20, unchanged),
    "grid": grid("shared", 60, 50, unchanged),
    "lattice": lattice(80, 40, unchanged),
    "subsets": subsets,
    "grammar": lambda: grammar(20, 9, 7),
    "low-rank grammar": lambda: low_rank_grammar(20, 9, 7, 16),
}
"""Functions to a batch so large that threads share the work, some items without a structure, and its scores."""

GRAMMARS = ("grammar", "low-rank grammar")


def answers(distribution, scores):
    """Log-partitions with their gradients, marginals and best structures; of grammars also entropies."""
    log_partition = distribution.log_partition
    possible = log_partition.isfinite()
    values = [log_partition, *([distribution.entropy()] if isinstance(distribution, PCFG) else [])]
    gradients = [grad for value in values for grad in torch.autograd.grad(value[possible].sum(), scores)]
    return [*values, *gradients, distribution.marginals, distribution.topk(1).events]


@pytest.mark.parametrize(
    ("kind", "repeats"),
    [
        *((kind, 50) for kind in KINDS if kind not in GRAMMARS),
        *((kind, 1) for kind in GRAMMARS),
        *(pytest.param(kind, 50, marks=pytest.mark.slow) for kind in GRAMMARS),
    ],
)
def test_every_run_has_the_same_bits_and_those_of_one_thread_up_to_rounding(
    on, poisoned_memory, four_threads, kind, repeats
):
    on("cpu")
    distribution, scores = KINDS[kind]()
    first = answers(distribution, scores)
    for _ in range(repeats):
        assert all(map(torch.equal, answers(distribution, scores), first))
    torch.set_num_threads(1)
    for serial, parallel in zip(answers(distribution, scores), first, strict=True):
        assert torch.allclose(serial, parallel, rtol=1e-12, atol=1e-12)
