"""All operators, timed on every structure."""

import math

import pytest
import torch
from benchmarks.contest import Case
from benchmarks.operators import OPERATORS, SAMPLES, STRUCTURES, gradient, many_samples, row


@pytest.mark.parametrize(
    "structure",
    [
        pytest.param(structure, id=structure.name, marks=() if place < 1 else pytest.mark.slow)
        for place, structure in enumerate(STRUCTURES)
    ],
)
def test_every_operator_returns_a_value(structure):
    every = [score.double() for score in structure.cases[0].inputs()]  # whose kernels other tests compile, too
    (batch,) = structure.build(*every).batch_shape
    inputs = tuple(score[:2] if score.dim() > 2 and len(score) == batch else score for score in every)
    assert [grad.shape for grad in gradient(structure, inputs)] == [score.shape for score in inputs]
    for name, operator in OPERATORS.items():
        assert operator(structure, inputs) is not None, name


def test_gradients_are_those_of_the_values():
    chain = STRUCTURES[0]
    inputs = tuple(score.double() for score in Case("small", ((2, 3, 4), (4, 4))).inputs())
    for name in ("log_partition", "marginals", "max_marginals", "entropy"):
        grads = gradient(chain, inputs, name)
        step = 1e-6
        ahead, behind = (
            chain.build(inputs[0] + way * step * grads[0], inputs[1]) for way in (1, -1)
        )
        values = [getattr(each, name) for each in (ahead, behind)]
        totals = [(value() if callable(value) else value).square().sum() for value in values]
        slope = (totals[0] - totals[1]) / (2 * step)
        assert torch.allclose(slope, grads[0].square().sum(), rtol=1e-4)


def test_a_batch_shares_the_samples():
    chain = STRUCTURES[0]
    inputs = Case("small", ((300, 2, 3), (3, 3))).inputs()
    assert many_samples(chain, inputs).shape[:2] == (math.ceil(SAMPLES / 300), 300)


def test_a_row_holds_a_time_and_ratios():
    cells = row(STRUCTURES[0], Case("small", ((2, 3, 4), (4, 4))), slice_=0.01)
    assert cells[:2] == ["`LinearChain`", "small"]
    assert len(cells) == 3 + len(OPERATORS)
    assert all(float(cell) > 0 for cell in cells[3:])
