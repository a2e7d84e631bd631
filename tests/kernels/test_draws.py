"""Tables of many draws say what the weights say."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.test_backends import unchanged
from tests.kernels.test_kbest_sequences import KINDS

from strukt.kernels import jit
from strukt.kernels.cpu_draws import VECTORS, accumulate, find

pytestmark = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason=f"kernels do not compile: {jit.UNAVAILABLE}"
)
LAST = float(np.nextafter(1.0, 0.0))
WEIGHTS = st.lists(st.just(0.0) | st.floats(1e-200, 1e200), min_size=1, max_size=3 * VECTORS).filter(any)


def table(weights: list[float]) -> np.ndarray:
    numbers = np.array(weights)
    accumulate(numbers)
    return numbers


@given(WEIGHTS, st.just(0.0) | st.just(LAST) | st.floats(0, LAST))
def test_no_impossible_index_is_found(weights, uniform):
    assert weights[find(table(weights), uniform)] > 0


@pytest.mark.parametrize("size", [1, 2, 3, VECTORS - 1, VECTORS, VECTORS + 1, 200])
def test_every_index_has_its_share(size):
    weights = np.arange(size) % 3 + (size == 1)
    bounds = np.cumsum(weights) / weights.sum()
    cumulative = table(weights.astype(float).tolist())
    for uniform in np.linspace(0, LAST, 997):
        index = find(cumulative, uniform)
        assert uniform <= bounds[index] + 1e-12
        assert index == 0 or uniform >= bounds[index - 1] - 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_of_torch_decides(on, kind):
    on("cpu")
    distribution = kind(33, unchanged)
    arguments = (*distribution._arguments(), 20)
    torch.manual_seed(3)
    first, _ = distribution.oracles.sample(*arguments)
    second, _ = distribution.oracles.sample(*arguments)
    torch.manual_seed(3)
    again, _ = distribution.oracles.sample(*arguments)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
