"""k-DPPs whose items depend on one another: low ranks, duplicates, smooth kernels, weights of any scale."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch.autograd import gradcheck, gradgradcheck

from strukt import KDPP


def enumerated(kernel, k, scores, omitted):
    """Subsets of k items as rows, and their log-weights: float64, -inf for dependent items."""
    n = len(kernel)
    deviation = np.sqrt(kernel.diagonal())
    rows, weights = [], []
    for chosen in itertools.combinations(range(n), k):
        rest = [item for item in range(n) if item not in chosen]
        part = kernel[np.ix_(chosen, chosen)]
        scale = deviation[list(chosen)]
        independent = scale.all() and smallest(part / np.outer(scale, scale)) > 4 * n * np.finfo(float).eps
        volume = np.linalg.slogdet(part)[1] if independent else -math.inf
        rows.append([float(item in chosen) for item in range(n)])
        weights.append(volume + scores[list(chosen)].sum() + omitted[rest].sum())
    return np.array(rows), np.array(weights)


def smallest(matrix):
    return np.linalg.eigvalsh(matrix)[0] if len(matrix) else 1.0


def normalised(weights):
    top = weights.max()
    total = top + np.log(np.exp(weights - top).sum())
    return total, np.exp(weights - total)


@st.composite
def kernels(draw):
    """Gram matrices of few features or of points on a line, with rows repeated and of different lengths."""
    n = draw(st.integers(1, 6))
    shape = (draw(st.integers(1, n)), draw(st.integers(1, n)))
    distinct = np.reshape(
        draw(st.lists(st.integers(-20, 20), min_size=math.prod(shape), max_size=math.prod(shape))), shape
    )
    features = distinct[draw(st.lists(st.integers(0, shape[0] - 1), min_size=n, max_size=n))] / 7
    if draw(st.booleans()):
        width = draw(st.sampled_from([0.1, 1.0, 10.0]))
        distance = np.square(features[:, None] - features).sum(-1)
        kernel = np.exp(-distance / (2 * width**2))
    else:
        kernel = features @ features.T
    lengths = np.array(draw(st.lists(st.sampled_from([1.0, 2.0**-10, 2.0**10]), min_size=n, max_size=n)))
    return kernel * np.outer(lengths, lengths) * draw(st.sampled_from([2.0**-20, 1.0, 2.0**20]))


@st.composite
def processes(draw):
    kernel = draw(kernels())
    n = len(kernel)
    size = draw(st.sampled_from([0.0, 1.0, 30.0, 1e5]))
    numbers = st.lists(st.integers(-100, 100), min_size=n, max_size=n)
    scores, omitted = (np.array(draw(numbers)) / 100 * size for _ in range(2))
    states = np.array(draw(st.lists(st.sampled_from("aaafr"), min_size=n, max_size=n)))
    scores[states == "f"], omitted[states == "r"] = -math.inf, -math.inf
    rank = int(np.linalg.matrix_rank(kernel))
    return kernel, draw(st.sampled_from([rank, max(rank - 1, 0), min(rank + 1, n)])), scores, omitted


@given(processes())
def test_any_rank_scale_and_duplicates_against_enumeration(process):
    kernel, k, scores, omitted = process
    rows, weights = enumerated(*process)
    given_ = [torch.from_numpy(value) for value in (kernel, scores, omitted)]
    points = KDPP(given_[0], k, scores=given_[1], omitted=given_[2])
    if weights.max() == -math.inf:
        assert points.log_partition == -math.inf
        assert (points.marginals == 0).all()
        return
    best = np.flatnonzero(rows[weights.argmax()])
    deviation = kernel.diagonal()[best] ** 0.5
    assume(smallest(kernel[np.ix_(best, best)] / np.outer(deviation, deviation)) > 1e-6)
    total, probabilities = normalised(weights)
    assert points.log_partition.item() == pytest.approx(total, rel=1e-9, abs=1e-7)
    np.testing.assert_allclose(points.marginals, probabilities @ rows, atol=1e-7)
    np.testing.assert_allclose(points.log_prob(torch.from_numpy(rows).long()).exp(), probabilities, atol=1e-7)
    samples = points.sample((20,))
    assert (samples.sum(-1) == k).all()
    assert points.log_prob(samples).isfinite().all()


def test_the_process_of_three_items_in_a_plane():
    features = torch.tensor([[-2.0, -2.0], [-2.0, -0.5], [1.0, 0.5]], dtype=torch.float64)
    pairs = KDPP(features @ features.mT, 2)
    squares = torch.tensor([9.0, 1.0, 0.25], dtype=torch.float64)  # of the determinants of pairs of rows
    assert pairs.log_partition.item() == pytest.approx(math.log(10.25), abs=1e-12)
    assert torch.allclose(pairs.marginals, (10.25 - squares.flip(0)) / 10.25)
    assert pairs.log_prob(
        torch.tensor([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    ).exp().sum().item() == pytest.approx(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", ["plane", "duplicate", "smooth"])
def test_samples_come_with_their_probabilities(case, dtype):
    torch.manual_seed(3)
    features = torch.randn(5, 2 if case == "plane" else 4, dtype=dtype)
    features[1] = features[0] if case == "duplicate" else features[1]
    kernel = features @ features.mT
    kernel = (-torch.cdist(features, features).square() / 2).exp() if case == "smooth" else kernel
    pairs = KDPP(kernel, 2)
    events = torch.tensor(
        [[int(i in pair) for i in range(5)] for pair in itertools.combinations(range(5), 2)]
    )
    probabilities = pairs.log_prob(events).double().exp()
    assert probabilities.sum().item() == pytest.approx(1, abs=1e-5)
    counts = (pairs.sample((4000,)).unsqueeze(-2) == events).all(-1).sum(0)
    likely = probabilities > 1e-3
    assert counts[~likely].sum() <= 12
    expected = probabilities[likely] / probabilities[likely].sum() * counts[likely].sum()
    assert chisquare(counts[likely], expected).pvalue > 1e-3


def test_what_is_required_and_forbidden_among_duplicates():
    """Items 0 and 1 are the same: with one required, the other cannot be taken."""
    features = torch.tensor([[1.0, 2.0], [1.0, 2.0], [0.5, -1.0], [2.0, 0.3]], dtype=torch.float64)
    kernel = features @ features.mT
    first = torch.tensor([True, False, False, False])
    required = KDPP(kernel, 2).condition(required=first)
    squares = torch.tensor([0.0, 0.0, (-1.0 - 1.0) ** 2, (0.3 - 4.0) ** 2], dtype=torch.float64)
    assert torch.allclose(required.marginals, torch.where(first, 1.0, squares / squares.sum()))
    assert required.log_partition.item() == pytest.approx(squares.sum().log().item())
    forbidden = KDPP(kernel, 2).condition(forbidden=first)
    assert forbidden.marginals[0] == 0
    assert forbidden.marginals.sum().item() == pytest.approx(2)
    both = KDPP(kernel, 2).condition(required=torch.tensor([True, True, False, False]))
    assert both.log_partition == -math.inf


@pytest.mark.parametrize("gap", [10.0, 50.0, 1000.0])
def test_heavy_duplicates_beside_light_items(gap):
    """The weight of leaving a heavy duplicate out is lost beside its kernel."""
    kernel = torch.eye(5, dtype=torch.float64)
    kernel[0, 1] = kernel[1, 0] = 1.0
    scores = torch.tensor([gap, gap, 0.0, 0.0, 0.0], dtype=torch.float64)
    points = KDPP(kernel, 3, scores=scores)
    assert points.log_partition.item() == pytest.approx(gap + math.log(6 + math.exp(-gap)), rel=1e-12)
    assert torch.allclose(points.marginals[:2], torch.full((2,), 0.5, dtype=torch.float64), atol=1e-4)


@pytest.mark.parametrize(
    ("rank", "k", "repeated"), [
        (3, 2, True),
        pytest.param(2, 2, False, marks=pytest.mark.slow),
        pytest.param(2, 1, False, marks=pytest.mark.slow),
        pytest.param(3, 3, True, marks=pytest.mark.slow),
    ],
)
def test_derivatives_in_features(rank, k, repeated):
    torch.manual_seed(rank + k)
    features = torch.randn(4, rank, dtype=torch.float64, requires_grad=True)
    scores = torch.randn(4, dtype=torch.float64, requires_grad=True)
    rows = torch.tensor([0, 1, 2, 0] if repeated else [0, 1, 2, 3])

    def points(features, scores):
        return KDPP(features[rows] @ features[rows].mT, k, scores=scores)

    for member in ("log_partition", "marginals"):
        check = (lambda *leaves, member=member: getattr(points(*leaves), member), (features, scores))
        assert gradcheck(*check, fast_mode=True)
        assert gradgradcheck(*check, fast_mode=True)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_gradient_in_the_kernel_is_that_of_the_sum_of_determinants(k):
    """Also in directions that make dependent items independent, as noise on the diagonal does."""
    torch.manual_seed(k)
    features = torch.randn(4, 3, dtype=torch.float64)
    features[3] = features[0]
    kernel = (features @ features.mT).requires_grad_()
    (found,) = torch.autograd.grad(KDPP(kernel, k).log_partition, kernel)
    total = sum(minor(kernel, chosen) for chosen in itertools.combinations(range(4), k))
    (expected,) = torch.autograd.grad(total.log(), kernel)
    assert torch.allclose(found, (expected + expected.mT) / 2, atol=1e-9)
    noise = 1e-6
    raised = KDPP(kernel.detach() + noise * torch.eye(4, dtype=torch.float64), k).log_partition
    slope = (raised - KDPP(kernel, k).log_partition) / noise
    assert slope.item() == pytest.approx(found.trace().item(), rel=1e-4)


def minor(kernel, chosen):
    """The determinant by its definition, which has derivatives at matrices without an inverse as well."""
    total = kernel.new_zeros(())
    for order in itertools.permutations(range(len(chosen))):
        crossings = sum(a > b for a, b in itertools.combinations(order, 2))
        factors = [kernel[chosen[row], chosen[column]] for row, column in enumerate(order)]
        total = total + (-1) ** crossings * torch.stack(factors).prod()
    return total


@pytest.mark.parametrize("member", ["log_partition", "marginals"])
def test_batches_of_several_ranks_are_their_items(member):
    torch.manual_seed(0)
    features = torch.randn(3, 5, 4, dtype=torch.float64)
    features[0, :, 2:] = 0
    features[1, 3] = features[1, 2]
    kernel, k, lengths = features @ features.mT, torch.tensor([2, 3, 4]), torch.tensor([5, 4, 5])
    together = getattr(KDPP(kernel, k, lengths), member)
    alone = [getattr(KDPP(kernel[i], int(k[i]), lengths[i]), member) for i in range(3)]
    assert torch.allclose(together, torch.stack(alone), atol=1e-12)


def test_transforms_of_dependent_items():
    torch.manual_seed(0)
    features = torch.randn(3, 4, 2, dtype=torch.float64)

    def log_partition(features):
        return KDPP(features @ features.mT, 2).log_partition

    mapped = torch.func.vmap(torch.func.grad(log_partition))(features)
    for row, expected in zip(features, mapped, strict=True):
        leaf = row.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(log_partition(leaf), leaf)
        assert torch.allclose(gradient, expected)


def test_the_search_for_the_tilt_ends_where_numbers_are_far_apart():
    n, k = 64, 32  # tilts near 1e15 are 0.125 apart: one step changes the mean size by 2
    process = KDPP(torch.eye(n, dtype=torch.float64), k, scores=torch.full((n,), -1e15, dtype=torch.float64))
    expected = math.lgamma(n + 1) - 2 * math.lgamma(k + 1) - k * 1e15
    assert process.log_partition.item() == pytest.approx(expected, abs=8.0)  # two units in the last place
    torch.testing.assert_close(process.marginals, torch.full((n,), 0.5, dtype=torch.float64))
