"""SparseMAP where other solvers stop early, scale wrongly, or accept nonsense."""

import warnings

import pytest
import torch
from tests.further import SUBJECTS
from tests.known_failures.everything import normal
from torch.autograd import grad

from strukt.distributions import LinearChain, NonProjectiveTree
from strukt.testing.subject import Subject


@pytest.mark.thinned("subject", "size")
@SUBJECTS
@pytest.mark.parametrize("size", [1e-2, 1e-6, 1e-12])
def test_small_gradients_are_as_exact_as_large_ones(subject, size):
    """A backward pass that stops at an absolute error is off by 72% where gradients are 1e-5."""
    case = subject.case((2,), lengths=[min(3, subject.size)]).leaves()
    marginals = case.distribution().sparsemap().marginals
    weights = normal(*marginals.shape, seed=3).double()
    whole = grad(marginals, case.scores, weights, retain_graph=True, materialize_grads=True)
    small = grad(marginals, case.scores, size * weights, materialize_grads=True)
    for one, other in zip(whole, small, strict=True):
        assert torch.allclose(other / size, one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: LinearChain(normal(40, 16, seed=seed).double(), normal(16, 16, seed=99).double()),
        lambda seed: NonProjectiveTree(normal(20, 21, seed=seed).double()),
    ],
    ids=["tags", "trees"],
)
@pytest.mark.parametrize("seed", range(2))
def test_solutions_of_usual_sizes_are_optimal(make, seed):
    """Ten inner steps by default, and a sequence 6e-3 off the optimum without a word."""
    distribution = make(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = distribution.sparsemap()
    point, main = found.marginals, distribution.scores[0]
    gains = distribution._with_scores(main - point, *distribution.scores[1:])
    own = (found.weights * gains.score(found.events)).sum()
    assert gains.max_score - own < 1e-7 * (1 + gains.max_score.abs())
    assert torch.isclose(found.weights.sum(), torch.ones((), dtype=torch.float64))


@SUBJECTS
def test_single_precision_and_strides(subject: Subject):
    """Scores that are no contiguous block are refused elsewhere, and single precision has an error of its own."""
    case = subject.case((2,), lengths=[min(3, subject.size)])
    exact = case.distribution().sparsemap().marginals
    single = case.map(torch.Tensor.float).distribution().sparsemap().marginals
    strided = (
        case.map(lambda score: torch.stack([score, score], -1)[..., 0]).distribution().sparsemap().marginals
    )
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), exact, atol=1e-5)
    assert torch.equal(strided, exact)
