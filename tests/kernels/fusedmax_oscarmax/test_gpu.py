"""The proximal map of total variation on a GPU, or in Triton's interpreter, equals that on the CPU."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.kernels.engine.gpu.device import DEVICE, by_kernels, needed

from strukt.kernels import fusedmax_oscarmax
from strukt.kernels.dispatch import using
from strukt.kernels.fusedmax_oscarmax import gpu

pytestmark = needed

TOLERANCES = {torch.float32: 1e-6, torch.float64: 1e-12}


def compare(scores, weight):
    with using("cpu"):
        expected = fusedmax_oscarmax.variation(scores, weight)
    found = by_kernels(fusedmax_oscarmax.variation, scores.to(DEVICE), weight.to(DEVICE))
    assert found.device.type == DEVICE
    tolerance = TOLERANCES[scores.dtype]
    torch.testing.assert_close(found.cpu(), expected, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("d", [1, 2, 3, 5, pytest.param(33, marks=pytest.mark.slow)])
def test_rows_with_gaps_and_wrong_numbers(d, dtype):
    generator = torch.Generator().manual_seed(d)
    rows = gpu.ROWS + 3  # those of two programs
    scores = 3.0 * torch.randn(rows, d, generator=generator, dtype=dtype)
    scores[torch.rand(rows, d, generator=generator) < 0.2] = -math.inf
    scores[3], scores[4, 0], scores[5, -1], scores[6] = -math.inf, math.nan, math.inf, 1.0
    weight = 2.0 * torch.rand(rows, generator=generator, dtype=torch.float64)
    weight[7], weight[8] = 0.0, 1e9
    compare(scores, weight)


@settings(max_examples=10)
@given(arrays.arrays("float64", (2, 6), elements=st.integers(-3, 3)), st.sampled_from([0.25, 0.5, 1.0, 300.0]))
def test_ties(scores, weight):
    compare(torch.from_numpy(scores), torch.full((2,), weight, dtype=torch.float64))


def test_programs_share_a_workspace_that_is_too_small_for_all_rows(monkeypatch):
    monkeypatch.setattr(gpu, "MOST_ON_GPU", gpu._workspace(torch.zeros(1, 4)))
    scores = torch.randn(2 * gpu.ROWS + 1, 4, generator=torch.Generator().manual_seed(0))
    compare(scores, torch.full((len(scores),), 0.3, dtype=torch.float64))
    assert not gpu.fits(torch.zeros(1, 5))
