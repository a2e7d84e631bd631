"""What the benchmark of GPUs does where there is none: its cases, its cells, its models, and its refusals."""

import math

import pytest
import torch
from benchmarks.gpu import report, share, steps
from benchmarks.gpu.cases import FAMILIES, on_device
from benchmarks.gpu.clock import Budget, Measured

from benchmarks import contest
from strukt.cli.main import main


def test_families_and_tables_are_chosen_in_their_order():
    assert report.chosen([])[:2] == ["chain", "semi-markov"]
    assert report.chosen(["share", "ctc", "chain"]) == ["chain", "ctc", "share"]
    with pytest.raises(ValueError, match="unknown cahin; expected some of chain, semi-markov"):
        report.chosen(["cahin"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_one_line(capsys):
    assert main(["benchmark", "gpu", "--only", "ctc"]) == 2
    assert "PyTorch sees no GPU" in capsys.readouterr().err


def test_options_of_gpu_are_refused_elsewhere(capsys):
    assert main(["benchmark", "chain", "--seconds", "3"]) == 2
    assert "--only and --seconds are for strukt benchmark gpu" in capsys.readouterr().err


def test_the_best_peer_stands_first():
    peers = [("slow", Measured(0.3, 0)), ("huge", "out of memory"), ("fast", Measured(0.02, 0)), ("none", "Error")]
    cells = steps.beside(Measured(0.01, 0), peers, others=True)
    assert cells == ["10.0 ms", "20.0 ms (fast)", "2.0", "slow 300 ms, huge: out of memory"]
    assert steps.beside("RuntimeError", [], others=False) == ["RuntimeError", "-", ""]
    assert steps.beside("NotImplementedError", peers[:1], others=False) == ["-", "300 ms (slow)", ""]
    more = ["case", "mode", "best peer", "times", "MiB", "launches", "on the device", "of the roofline"]
    assert len(steps.HEADER) == len([*cells, *more])


def test_a_spent_budget_measures_nothing():
    assert list(steps.lines(FAMILIES[0], "cpu", Budget(0), 1e12, steps.told)) == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_strukt_answers_in_every_family(family):
    """Small inputs in the place of the cases: the loss has a finite gradient in each."""
    small = family.warm_up
    inputs = on_device(small, "cpu")
    own, *_ = steps.contestants(family, inputs)
    assert own.name == "strukt"
    for operation in steps.operations(family):
        if operation is contest.mode and own.mode is None:
            continue
        for answer in operation(own, inputs):
            assert torch.isfinite(answer).all()
    assert max(math.prod(shape) for case in family.cases for shape in case.shapes) > 1e5


@pytest.mark.slow
def test_the_default_models_have_a_structure():
    corpus = share.sentences()
    assert sum(map(len, corpus)) == 2500
    for _, model in share.models():
        batch = model.collate(corpus[:2])
        distribution = model.distribution_of(batch)
        event = batch.targets["tags" if "tags" in batch.targets else "heads"]
        assert torch.isfinite(distribution.log_prob(event)).all()
