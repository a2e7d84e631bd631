"""The compiled mappings equal the reference, whatever the scores, the parameters and the threads."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.kernels.test_backends import normal

from strukt.kernels import capped_simplex, dispatch, elementary, fusedmax_oscarmax, sparsemax_entmax

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

ALPHAS = [0.1, 0.5, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9, 1.0001, 1.1, 1.25, 4 / 3, 1.5, 1.7, 2.0, 2.5, 10.0]


def compare(on, mapping, scores: torch.Tensor, parameter: torch.Tensor, tolerance: float = 1e-12) -> None:
    direction = normal(*scores.shape, seed=7).to(scores.dtype)
    found = {}
    for backend in ("cpu", "reference"):
        on(backend)
        leaf = scores.clone().requires_grad_()
        value = mapping(leaf, parameter)
        found[backend] = value, torch.autograd.grad(value, leaf, direction)[0]
    for ours, expected in zip(found["cpu"], found["reference"], strict=True):
        assert torch.allclose(ours, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.thinned("d", "scale")
@pytest.mark.parametrize("d", [1, 2, 7, 31, 32, 33, 300, 1300])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("mapping", [sparsemax_entmax.entmax, sparsemax_entmax.normmax])
def test_maps_to_the_simplex_of_any_size(on, poisoned_memory, mapping, d, scale):
    alphas = torch.tensor([alpha for alpha in ALPHAS if mapping is sparsemax_entmax.entmax or alpha > 1.05])
    gentle = alphas[alphas <= 2.0]  # beyond, slopes are steep where probabilities are small
    scores = scale * normal(len(alphas), d)
    compare(on, mapping, scores[: len(gentle)], gentle.double(), 1e-9)
    compare(on, mapping, scores[: len(gentle)].float(), gentle.double(), 2e-5)
    on("cpu")
    found = mapping(scores, alphas.double())
    on("reference")
    assert torch.allclose(found, mapping(scores, alphas.double()), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("alpha", [1.3, 1.5, 2.0])
def test_a_direction_counts_on_the_support_only(on, poisoned_memory, alpha):
    on("cpu")
    scores = (20 * normal(4, 1300)).requires_grad_()
    value = sparsemax_entmax.entmax(scores, torch.full((4,), alpha, dtype=torch.float64))
    direction = normal(4, 1300, seed=7)
    wild = torch.where(value > 0, direction, math.inf)
    (expected,) = torch.autograd.grad(value, scores, direction, retain_graph=True)
    assert torch.equal(torch.autograd.grad(value, scores, wild)[0], expected)


@pytest.mark.parametrize("d", [1, 2, 9, 200])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_subsets_of_any_size(on, poisoned_memory, d, scale):
    for k in (0.0, 0.5, 1.0, 3.0, d - 0.5, d, d + 2.0):
        scores = scale * normal(6, d)
        scores[0] = 0.0
        scores[1, ::2] = -math.inf
        compare(on, capped_simplex.subset, scores, torch.full((6,), float(k)), 1e-10)


SCORES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 40)),
    elements=st.just(-math.inf) | st.floats(-1e3, 1e3),
)


@given(SCORES, st.sampled_from(ALPHAS))
def test_forbidden_scores_and_ties(values, alpha):
    scores = torch.from_numpy(values)
    found = sparsemax_entmax.entmax(scores, torch.full((len(scores),), alpha, dtype=torch.float64))
    expected = sparsemax_entmax.reference.entmax(
        scores, torch.full((len(scores),), alpha, dtype=torch.float64)
    )
    assert torch.allclose(found, expected, atol=1e-9)
    assert (found[scores == -math.inf] == 0).all()


def test_no_thread_changes_a_number(on, four_threads):
    on("cpu")
    scores, alpha = normal(400, 500), torch.full((400,), 1.5, dtype=torch.float64)
    weight = torch.full((400,), 0.1, dtype=torch.float64)
    for mapping, parameter in (
        (sparsemax_entmax.entmax, alpha),
        (sparsemax_entmax.normmax, alpha),
        (capped_simplex.subset, alpha),
        (fusedmax_oscarmax.variation, weight),
        (fusedmax_oscarmax.oscar, weight),
    ):
        together = mapping(scores, parameter)
        alone = torch.cat([mapping(scores[i : i + 1], parameter[i : i + 1]) for i in range(0, 400, 37)])
        assert torch.equal(together[::37], alone)


def test_our_logarithms():
    exponents = np.random.default_rng(0).uniform(-12, 3, 20000)
    x = np.concatenate([10.0**exponents, -1 + 10.0 ** -np.linspace(0, 15, 5000), [0.0, 1e300]])
    x = np.concatenate([x, -x[(x > 0) & (x < 1)]])
    positive = np.concatenate([x[x > 0], 10.0 ** np.linspace(-307, 308, 2000)])
    logarithms = np.array([elementary.log(value) for value in positive])
    assert (np.abs(logarithms - np.log(positive)) <= 3 * np.finfo(float).eps * np.abs(np.log(positive))).all()
    found = np.array([elementary.log1p(value) for value in x])
    expected = np.log1p(x)
    assert np.abs(found - expected).max() <= 1e-13
    assert (np.abs(found - expected) <= 3 * np.finfo(float).eps * np.abs(expected)).all()
