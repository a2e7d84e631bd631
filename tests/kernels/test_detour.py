"""What a device has no kernels for is answered by the CPU's, on tensors moved there and back once."""

import json
import os
import subprocess
import sys

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, runs

from strukt import CheckpointedChain, ProjectiveTree
from strukt.kernels import detour, dispatch, jit
from strukt.kernels.engine.gpu import available, backend
from strukt.testing.subjects import STRUCTURES

CHAIN, GRAMMAR = "strukt.structures.linear_chain", "strukt.structures.pcfg"

pytestmark = pytest.mark.skipif(jit.UNAVAILABLE is not None, reason=f"no compiled kernels: {jit.UNAVAILABLE}")


class OnGpu:
    """Scores on a GPU, of which dispatch asks only where they are."""

    is_cpu, is_meta, is_cuda = False, False, True


class OnAccelerator(OnGpu):
    is_cuda = False


@pytest.mark.skipif(not runs, reason="needs a GPU or Triton's interpreter")
@pytest.mark.parametrize(
    ("kind", "question", "taken"),
    [
        ("LinearChain", "inside", False),
        ("LinearChain", "best", False),
        ("LinearChain", "kbest", False),
        ("KSubset", "inside", False),
        ("PCFG", "kbest", False),
        ("PCFG", "best", False),
        ("LowRankPCFG", "inside", False),
        ("LowRankPCFG", "sample", False),
        ("SpanningTree", "sample", False),
        ("Matching", "best", True),
        ("KDPP", "best", False),  # nothing there either
    ],
)
def test_a_gpu_leaves_what_it_has_no_kernels_for(kind, question, taken):
    subject = next(each for each in STRUCTURES if each.name.split(",")[0] == kind)
    distribution = subject.case((2,)).distribution()
    with dispatch.using("gpu"):
        given = [each.to(DEVICE) if isinstance(each, torch.Tensor) else each for each in distribution._arguments()]
        assert detour.is_taken(distribution.oracles.name, question, *given) is taken


@pytest.mark.skipif(not runs, reason="needs a GPU or Triton's interpreter")
def test_a_table_that_is_too_large_is_left_to_the_cpu(monkeypatch):
    scores = torch.randn(2, 3, dtype=torch.float64).to(DEVICE)

    def answers():
        trees = ProjectiveTree(scores, validate_args=False)
        taken = detour.is_taken(trees.oracles.name, "inside", *trees._arguments())
        return taken, trees.log_partition, trees.marginals

    with dispatch.using("gpu"):
        at_first, *expected = answers()
        monkeypatch.setattr(backend, "MOST_TERMS", 1)
        then, *found = answers()
    assert (at_first, then) == (False, True)
    assert all(map(torch.allclose, found, expected))


@pytest.mark.parametrize("scores", [OnGpu(), OnAccelerator()])
def test_a_device_without_kernels_leaves_everything(monkeypatch, scores):
    monkeypatch.setattr(available, "broken", lambda: "no triton")
    monkeypatch.setattr(available, "warn_once", lambda: None)
    assert detour.is_taken(CHAIN, "inside", scores)
    assert detour.is_taken(GRAMMAR, "derivative", scores)
    with dispatch.using("reference"):
        assert not detour.is_taken(CHAIN, "inside", scores)


def test_the_cpu_and_tensors_without_memory_stay_where_they_are():
    assert not detour.is_taken(CHAIN, "kbest", torch.zeros(1))
    assert not detour.is_taken(CHAIN, "kbest", torch.zeros(1, device="meta"))


def test_on_the_detour_nothing_is_interpreted(monkeypatch):
    monkeypatch.setattr(available, "is_interpreted", lambda: True)
    monkeypatch.setattr(available, "broken", lambda: None)
    chain = CheckpointedChain(torch.randn(2, 4, 3), torch.randn(3, 3))
    events, scores = chain.oracles.kbest(*chain._arguments(), 3)
    with dispatch.using("gpu"):
        result = chain.oracles.kbest(*chain._arguments(), 3)
    assert torch.equal(result[0], events)
    assert torch.equal(result[1], scores)


GROWING = {
    "NonProjectiveTree, labelled, single root": ("topk",),
    "NonProjectiveTree, single root": ("max_marginals",),
    "PCFG, shared grammar": ("max_marginals",),
}
"""Questions besides SparseMAP that take more operations for longer items."""


def counts_elsewhere(*arguments, **environment):
    """The operations on another device for each question, for items of a length and of twice that."""
    command = [sys.executable, "-m", "tests.kernels.other_device", *arguments]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return dict(map(json.loads, result.stdout.splitlines()))


@pytest.mark.slow  # a process, too; on the CPU, `test_executor` counts what this device does
@pytest.mark.parametrize(
    "subject", ["LinearChain, shared transition", "NonProjectiveTree, single root", "CTC"]
)
def test_the_reference_of_another_device_is_an_executor(subject):
    """Of a step; the count includes views."""
    counts = counts_elsewhere(subject, "log_partition", STRUKT_BACKEND="reference")
    assert max(counts["log_partition"]) < 800


@pytest.mark.slow  # a process that asks everything on a device that is made for it
@pytest.mark.parametrize(
    "subject",
    [
        "BitSpanTree",
        "CTC",
        "KSubset",
        "LexicalisedTree",
        "LinearChain, shared transition",
        "MonotoneAlignment",
        "NonProjectiveTree, labelled, single root",
        "NonProjectiveTree, single root",
        "PCFG, shared grammar",
        "ProjectiveTree, labelled, any root",
        "SecondOrderTree, single root",
        "SemiMarkov, shared transition",
        "SpanTree, labelled",
        "SpanningTree",
        "TableStructure",
        "Transducer",
    ],
)
def test_another_device_has_all_answers_by_few_operations(subject):
    """A reference takes thousands for long items; these do not grow with the length.

    Gradients of max-marginals of some structures have no kernel, and the k best labels are found word by word.
    """
    counts = counts_elsewhere(subject)
    assert {"topk", "sparsemap", "max_marginals"} <= counts.keys()
    assert max(short for short, _ in counts.values()) < 1_000, counts
    growing = {"sparsemap", "sparsemap from a start", *GROWING.get(subject, ())}
    assert all(
        longer <= short + 10 for name, (short, longer) in counts.items() if name not in growing
    ), counts
