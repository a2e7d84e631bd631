"""Draws of kernels: numbers are uniform, weights are found again, and nothing of weight zero is drawn."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tests.kernels.test_backends import normal

from strukt.distributions import PCFG, BitSpanTree, LinearChain, ProjectiveTree, SpanTree
from strukt.kernels import cpu_sample, jit
from strukt.structures.linear_chain import cpu
from strukt.structures.linear_chain.cpu_weights import UNDERFLOWED

pytestmark = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason=f"kernels do not compile: {jit.UNAVAILABLE}"
)


def state(seed: int) -> np.ndarray:
    return np.array([seed], np.uint64)


def test_random_numbers_are_those_of_the_published_generator():
    """The first outputs for the seed 1234567 in the implementation by Vigna, prng.di.unimi.it/splitmix64.c."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    numbers = state(1234567)
    assert [cpu_sample.uniform(numbers) for _ in expected] == [(x >> 11) / 2**53 for x in expected]


def test_random_numbers_are_uniform():
    numbers = state(7)
    drawn = np.array([cpu_sample.uniform(numbers) for _ in range(20000)])
    assert 0.0 <= drawn.min() < 0.001
    assert 0.999 < drawn.max() < 1.0
    counts, _ = np.histogram(drawn, 20, (0, 1))
    assert ((counts - 1000) ** 2 / 1000).sum() < 45  # chi-square of 19 degrees: 1e-3 lies at 43.8
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 9, 33])
def test_a_number_finds_the_weight_it_falls_on(count):
    weights = np.random.default_rng(count).random(count) * (np.arange(count) % 3 != 1)
    sums = np.concatenate([[np.nan, np.nan], weights.cumsum(), [np.nan]])
    for number in np.linspace(0, 1 - 1e-9, 101):
        expected = np.searchsorted(weights.cumsum(), number * weights.sum(), side="right")
        chosen = cpu_sample.find(sums, 2, count, number)
        assert chosen == expected
        assert weights[chosen] > 0


LAST = float(np.nextafter(1.0, 0.0))
WEIGHTS = st.lists(st.just(0.0) | st.floats(1e-200, 1e200), min_size=1, max_size=200).filter(any)


def table(weights: list[float]) -> np.ndarray:
    numbers = np.array(weights)
    cpu_sample.accumulate(numbers)
    return numbers


@example([0.0, 1.0], 0.0)
@example([1.0, 0.0], LAST)
@given(WEIGHTS, st.just(0.0) | st.just(LAST) | st.floats(0, LAST))
def test_no_impossible_index_is_found(weights, uniform):
    assert weights[cpu_sample.find(table(weights), 0, len(weights), uniform)] > 0


@pytest.mark.parametrize("size", [1, 2, 3, 63, 64, 65, 200])
def test_every_index_has_its_share(size):
    weights = np.arange(size) % 3 + (size == 1)
    bounds = np.cumsum(weights) / weights.sum()
    cumulative = table(weights.astype(float).tolist())
    for uniform in np.linspace(0, LAST, 997):
        index = cpu_sample.find(cumulative, 0, size, uniform)
        assert uniform <= bounds[index] + 1e-12
        assert index == 0 or uniform >= bounds[index - 1] - 1e-12


def test_rows_are_found_again_and_not_more_kept_than_there_is_room_for():
    kept = cpu_sample.make_kept(5, 2, 3)
    assert cpu_sample.row_of(kept, 4) == (1, False)
    assert cpu_sample.row_of(kept, 0) == (2, False)
    assert cpu_sample.row_of(kept, 4) == (1, True)
    assert cpu_sample.row_of(kept, 3) == (0, False)
    assert cpu_sample.row_of(kept, 3) == (0, False)
    assert kept.sums.shape == (3, 3)



STRUCTURES = {
    "spans": lambda: SpanTree(normal(2, 8, 8, 3), torch.tensor([7, 4])),
    "spans, steep": lambda: SpanTree(100 * normal(2, 8, 8, 3), torch.tensor([7, 4])),
    "codes": lambda: BitSpanTree(
        normal(2, 8, 8, 3), torch.tensor([7, 4]), negative=normal(2, 8, 8, 3, seed=1)
    ),
    "words": lambda: ProjectiveTree(normal(2, 7, 8), torch.tensor([7, 4])),
    "words, any root": lambda: ProjectiveTree(normal(2, 7, 8), torch.tensor([7, 4]), single_root=False),
    "grammar": lambda: PCFG(normal(2), normal(2, 4, 4), normal(2, 7, 2), torch.tensor([7, 4])),
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_samples_depend_on_the_seed_and_not_on_the_threads(on, four_threads, poisoned_memory, kind):
    on("cpu")
    structures = STRUCTURES[kind]()
    torch.manual_seed(5)
    first, other = structures.sample((200,)), structures.sample((200,))
    torch.set_num_threads(1)
    torch.manual_seed(5)
    assert torch.equal(structures.sample((200,)), first)
    assert kind == "spans, steep" or not torch.equal(other, first)


def test_chains_that_underflow_have_the_right_frequencies(on):
    """A tag that is finite and next to impossible asks for extended numbers."""
    on("cpu")
    unary = normal(1, 5, 4)
    unary[..., 0] = -400.0
    chains = LinearChain(unary, normal(4, 4, seed=1))
    _, chart = cpu.inside(*chains._arguments())
    assert chart[0, 0, -1] == UNDERFLOWED
    torch.manual_seed(0)
    frequencies = chains.to_parts(chains.sample((4000,))).mean(0)
    assert (frequencies - chains.marginals).abs().max() < 5 * 0.5 / 4000**0.5
