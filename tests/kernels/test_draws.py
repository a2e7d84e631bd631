"""Tables of many draws say what the weights say."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.test_backends import normal, unchanged
from tests.kernels.test_kbest_backends import KINDS

from strukt.distributions import LinearChain
from strukt.kernels import jit
from strukt.kernels.chain import cpu
from strukt.kernels.chain.cpu_probability import LOG_SPACE
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


def test_chains_in_log_space_have_the_right_frequencies(on):
    """A tag that is finite and next to impossible takes an item out of probability space."""
    on("cpu")
    unary = normal(1, 5, 4)
    unary[..., 0] = -400.0
    distribution = LinearChain(unary, normal(4, 4, seed=1))
    _, chart = cpu.inside(*distribution._arguments())
    assert chart[0, 0, -1] == LOG_SPACE
    torch.manual_seed(0)
    frequencies = distribution.to_parts(distribution.sample((4000,))).mean(0)
    assert (frequencies - distribution.marginals).abs().max() < 5 * 0.5 / 4000**0.5
