"""Samples and the k best, timed on every structure."""

import pytest
import torch
from benchmarks.contest import Case
from benchmarks.questions import STRUCTURES, best, gradient, row, samples


@pytest.mark.parametrize(
    "dtype", [torch.float64, pytest.param(torch.float32, marks=pytest.mark.slow)], ids=["double", "single"]
)
@pytest.mark.parametrize(
    "structure",
    [
        pytest.param(structure, id=structure.name, marks=() if place < 2 else pytest.mark.slow)
        for place, structure in enumerate(STRUCTURES)
    ],
)
def test_the_questions_are_answered(structure, dtype):
    inputs = tuple(score.to(dtype) for score in structure.cases[0].inputs())
    distribution = structure.build(*inputs)
    assert [grad.shape for grad in gradient(structure, inputs)] == [score.shape for score in inputs]
    assert samples(structure, inputs).shape == (1000, 1, *distribution.event_shape)
    assert best(structure, inputs)[0].shape == (1, 10)


def test_a_batch_shares_the_samples():
    chain = STRUCTURES[0]
    inputs = Case("small", ((300, 2, 3), (3, 3)), 1).inputs()
    assert samples(chain, inputs).shape[:2] == (4, 300)


def test_a_row_holds_times_and_ratios():
    cells = row(STRUCTURES[0], Case("small", ((2, 3, 4), (4, 4)), 1))
    assert cells[:2] == ["`LinearChain`", "small"]
    assert len(cells) == 7
    assert float(cells[4]) > 0
