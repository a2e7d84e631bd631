"""The fused kernels of subsets say what the reference says, for any sizes, bounds and scores."""

import itertools
import math

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference
from tests.frequencies import assert_frequencies
from tests.kernels.test_backends import normal, single, steep, unchanged

from strukt import KSubset
from strukt.kernels import dispatch
from strukt.structures.k_subset import cpu
from strukt.structures.k_subset.cpu_coins import expected, find_tilt

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)


@pytest.fixture(autouse=True)
def always_poisoned(poisoned_memory):
    """Every test here reads memory that holds NaN until it is written."""


def shifted(scores):
    return scores + 1000


def sparse(scores):
    """Three in ten items forbidden, or required."""
    return scores.masked_fill(scores < -0.5, -torch.inf)


def tied(scores):
    return scores.round()


CHANGES = [(unchanged, 1e-10), (single, 1e-4), (steep, 1e-8), (shifted, 1e-9), (sparse, 1e-10), (tied, 1e-10)]


def sizes(n):
    """Smallest and largest sizes of five items, some beyond what there is."""
    low = torch.tensor([0, n // 2, 0, min(n, 2), n])
    return low, torch.tensor([n, n // 2, max(n - 3, 0), min(n, 2) + 3, n])


def lengths(n):
    return torch.tensor([n, n, 0, min(1, n), max(n - 2, 0)])


def answers(build):
    """Numbers, marginals and gradients of both; log-count and best scores."""
    subsets, leaves = build()
    scores, omitted = subsets.scores
    others = KSubset(0.5 * scores.flip(0).clamp(min=-3) + scores, subsets.constants, subsets.lengths, omitted)
    numbers = [subsets.log_partition, subsets.entropy(), subsets.cross_entropy(others)]
    marginals = subsets.marginals
    totals = [(normal(*marginals.shape, seed=2).to(marginals.dtype) * marginals).sum()]
    for value in numbers:
        factors = torch.arange(1.0, len(value) + 1, dtype=value.dtype)
        totals.append(torch.where(value.isfinite(), value, 0.0) @ factors)
    gradients = [each for total in totals for each in torch.autograd.grad(total, leaves, retain_graph=True)]
    fixed = [*numbers, marginals, subsets.log_count, subsets.max_score]
    return [*(value.detach() for value in fixed), *gradients]


def assert_backends_agree(on, build, tolerance):
    on("reference")
    expected = answers(build)
    on("cpu")
    for true, found in zip(expected, answers(build), strict=True):
        assert torch.allclose(found, true, rtol=tolerance, atol=tolerance)


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 31, 33, 65])
@pytest.mark.parametrize("shared", [True, False])
def test_subsets_of_any_size(on, n, change, tolerance, shared):
    def build():
        scores = change(normal(5, n)).requires_grad_()
        omitted = change(normal(n, seed=1) if shared else normal(5, n, seed=1)).requires_grad_()
        return KSubset(scores, sizes(n), lengths(n), omitted), (scores, omitted)

    assert_backends_agree(on, build, tolerance)


@pytest.mark.parametrize(("low", "high"), list(itertools.combinations_with_replacement(range(7), 2)))
def test_all_bounds(on, low, high):
    """With items required and forbidden, and an impossible one in the last item of the batch."""

    def build():
        scores, omitted = 2 * normal(4, 6), 2 * normal(4, 6, seed=1)
        scores[1:, 0], omitted[2:, 1], omitted[2:, 2] = -torch.inf, -torch.inf, -torch.inf
        omitted[3, 0] = -torch.inf
        leaves = scores.requires_grad_(), omitted.requires_grad_()
        return KSubset(leaves[0], (low, high), omitted=leaves[1]), leaves

    assert_backends_agree(on, build, 1e-10)


@pytest.mark.parametrize("k", [1, 17, pytest.param(700, marks=pytest.mark.slow), 1400])
@pytest.mark.parametrize("scale", [pytest.param(0.0, marks=pytest.mark.slow), 1.0, 100.0])
def test_long_inputs(on, k, scale):
    """Beside independent sums: the logs of the coefficients of a product of polynomials at points of a circle."""
    on("cpu")
    n = 1400
    scores = scale * normal(n)
    subsets = KSubset(scores, k)
    tilt = cpu.inside(scores[None], torch.zeros(1, n), *(torch.tensor([v]) for v in (n, k, k)))[1][0, 0]
    angle = 2 * torch.pi * torch.arange(n + 1, dtype=torch.float64) / (n + 1)
    chance = (scores - tilt).sigmoid()
    turned = 1 - chance + chance * torch.polar(torch.ones_like(angle), angle)[:, None]
    coefficient = (turned.log().sum(1) - 1j * angle * k).exp().real.mean()
    expected = torch.nn.functional.softplus(scores - tilt).sum() + k * tilt + coefficient.log()
    assert torch.allclose(subsets.log_partition, expected, rtol=1e-11, atol=1e-8)
    assert torch.allclose(subsets.marginals.sum(), torch.tensor(float(k), dtype=torch.float64))


def test_every_size_keeps_its_probability():
    """Where the tilt holds the mean at k, at least one in n + 1 subsets of the coins has k items."""
    for seed, k in itertools.product(range(20), (0, 1, 5, 30, 59, 60)):
        scores = 10 ** (seed % 5) * normal(1, 60, seed=seed)
        gain = scores[0].numpy()
        bounds = torch.tensor([k, k]).numpy()
        tilt = find_tilt(gain, 60, bounds)
        mean, variance = expected(gain, 60, tilt)
        assert abs(mean - k) < 0.1
        assert variance >= 0


def test_samples_of_several_sizes_have_the_right_frequencies(on):
    on("cpu")
    torch.manual_seed(0)
    subsets = KSubset(2 * normal(4), (1, 4), omitted=normal(4, seed=1))
    assert_frequencies(subsets, subsets.sample((4000,)))


def test_samples_of_batches_keep_to_their_bounds(on):
    on("cpu")
    scores = (100 * normal(5, 40)).masked_fill(normal(5, 40, seed=2) < -1, -torch.inf)
    low, high = torch.tensor([0, 3, 10, 0, 20]), torch.tensor([0, 3, 12, 40, 20])
    subsets = KSubset(scores, (low, high), torch.tensor([40, 40, 30, 0, 35]))
    drawn = subsets.sample((30,))
    assert subsets.is_structure(drawn).all()
    assert subsets.log_prob(drawn).isfinite().all()


def two_way(difference):
    """The entropy of a choice between two whose scores differ by this."""
    odds = math.exp(-difference)
    return math.log1p(odds) + difference * odds / (1.0 + odds)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("difference", [0.0, 1e-3, 1.0, 20.0, 37.0, 100.0, 600.0])
def test_entropies_keep_their_digits(on, backend, difference):
    on(backend)
    scores = torch.tensor([difference, 0.0, -torch.inf], dtype=torch.float64)
    for offset in (0.0, 1e6):
        assert KSubset(scores + offset, 1).entropy().item() == pytest.approx(two_way(difference), rel=1e-9)
    free = KSubset(scores[:1], (0, 1)).entropy().item()
    assert free == pytest.approx(two_way(difference), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
def test_entropies_at_any_scale(on, scale):
    """Nothing is negative, and nothing is lost beside the reference."""
    scores, others = scale * normal(4, 9), scale * normal(4, 9, seed=1)

    def answers():
        subsets = KSubset(scores, (2, 5))
        return subsets.entropy(), subsets.cross_entropy(KSubset(others, (2, 5)))

    assert_kernels_answer_as_the_reference(on, answers, 1e-6, 0.0)
    assert all((answer >= 0).all() for answer in answers())


def test_a_surprise_beyond_double_precision_is_no_impossibility(on):
    on("cpu")
    even, sure = torch.zeros(2, dtype=torch.float64), torch.tensor([1e4, 0.0], dtype=torch.float64)
    leaves = even.clone().requires_grad_()
    value = KSubset(leaves, 1).cross_entropy(KSubset(sure, 1))
    assert value.item() == pytest.approx(5000)
    assert torch.allclose(torch.autograd.grad(value, leaves)[0], torch.tensor([-2500.0, 2500.0]).double())
    assert KSubset(even, 1).cross_entropy(KSubset(sure.log(), 1)) == torch.inf


def test_the_others_may_allow_more_sizes(on):
    """Without a bound on sizes, items are independent coins."""
    on("cpu")
    mine = torch.tensor([0.0, 0.0, -torch.inf], dtype=torch.float64)
    theirs = torch.tensor([2.0, 2.0, -3.0], dtype=torch.float64)
    coins = torch.nn.functional.softplus(torch.stack([theirs, -theirs]))
    found = KSubset(mine, (0, 3)).cross_entropy(KSubset(theirs, (0, 3)))
    assert torch.isclose(found, coins[:, :2].mean(0).sum() + coins[0, 2])
