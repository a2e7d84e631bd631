"""k-DPPs: against eigenvectors and enumeration, derivatives in the kernel, ranks, large sizes, messages."""

import math

import pytest
import torch
from tests.scores import normal
from torch.autograd import gradcheck, gradgradcheck

from strukt import KDPP, KSubset
from strukt.errors import InfeasibleError


def gram(*shape, seed=0):
    features = normal(*shape, seed=seed)
    return features @ features.mT


@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 0), (7, 3), (40, 40), (41, 20), (60, 3), (100, 10)])
def test_independent_items_are_a_k_subset(n, k):
    """A diagonal kernel holds the weights of a KSubset."""
    weights = normal(n)
    points, subsets = KDPP(torch.diag(weights.exp()), k), KSubset(weights, k)
    assert torch.allclose(points.log_partition, subsets.log_partition, rtol=1e-11, atol=1e-11)
    assert torch.allclose(points.marginals, subsets.marginals, atol=1e-10)


@pytest.mark.parametrize(("n", "low", "high"), [(4, 0, 1), (5, 1, 3), (6, 1, 3), (12, 1, 5), (60, 5, 30)])
def test_items_of_a_batch_may_have_different_sizes(n, low, high):
    """The sums of all sizes are read from the same points, at which none may alias with another."""
    size = torch.arange(low, high + 1)
    weights = 0.3 * normal(n)
    points = KDPP(torch.diag(weights.exp()).expand(len(size), n, n), size)
    subsets = KSubset(weights.expand(len(size), n), size)
    assert torch.allclose(points.log_partition, subsets.log_partition, rtol=1e-11, atol=1e-11)
    assert torch.allclose(points.marginals, subsets.marginals, atol=1e-10)


@pytest.mark.parametrize("k", [1, 2, 5, 10, 19, 20])
def test_marginals_are_the_diagonal_of_kulesza_and_taskar(k):
    """Sums over eigenvectors: V diag(lambda_i e_(k-1)(others) / e_k) V^T (2012, section 5.2)."""
    kernel = gram(20, 25)
    eigenvalues, vectors = torch.linalg.eigh(kernel)
    logs = eigenvalues.log()
    share = KSubset(logs, k).marginals
    found = KDPP(kernel, k).marginals
    assert torch.allclose(found, vectors.square() @ share, atol=1e-10)
    assert found.sum().item() == pytest.approx(k)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("k", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 3, 4))])
def test_gradients_in_the_kernel(k):
    kernel = gram(2, 4, 6).requires_grad_()
    scores = normal(2, 4, seed=1).requires_grad_()

    def log_partition(kernel, scores):
        return KDPP(kernel, k, scores=scores).log_partition

    def marginals(kernel, scores):
        return KDPP(kernel, k, lengths=torch.tensor([4, 4]), scores=scores).marginals

    for function in (log_partition, marginals):
        assert gradcheck(function, (kernel, scores), check_forward_ad=True, fast_mode=True)
        assert gradgradcheck(function, (kernel, scores), check_fwd_over_rev=True, fast_mode=True)


@pytest.mark.thinned("kernel", "k")
@pytest.mark.parametrize("k", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kernel", [torch.eye(4), torch.diag(torch.tensor([2.0, 2.0, 1.0, 1.0]))])
def test_gradients_where_eigenvalues_repeat(kernel, k):
    """Eigenvectors have no derivatives there."""
    leaf = kernel.double().requires_grad_()
    assert gradcheck(lambda kernel: KDPP(kernel, k).log_partition, leaf)
    assert gradgradcheck(lambda kernel: KDPP(kernel, k).log_partition, leaf, fast_mode=True)


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_kernel_of_low_rank_has_no_larger_subsets(rank, dtype):
    kernel = gram(6, rank).to(dtype)
    kernel = kernel / kernel.diagonal().max()
    within, beyond = KDPP(kernel, rank), KDPP(kernel, rank + 1)
    assert within.log_partition.isfinite()
    assert torch.allclose(within.marginals.sum(), torch.tensor(float(rank), dtype=dtype))
    assert beyond.log_partition == -math.inf
    assert (beyond.marginals == 0).all()
    with pytest.raises(InfeasibleError, match="batch item 0"):
        _ = beyond.mode
    with pytest.raises(InfeasibleError, match="batch item 0"):
        _ = beyond.greedy_mode


def test_dependent_items_are_never_together():
    """Items 0 and 1 are the same, item 3 is nothing."""
    features = torch.tensor(
        [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.5, 0.0, 1.0]]
    )
    points = KDPP(features @ features.mT, 2)
    assert points.log_prob(torch.tensor([1, 1, 0, 0, 0])) == -math.inf
    assert points.log_prob(torch.tensor([0, 0, 1, 1, 0])) == -math.inf
    assert points.log_count.exp().round() == 5
    drawn = points.sample((200,))
    assert not (drawn[:, 0] & drawn[:, 1]).any()
    assert not drawn[:, 3].any()
    scores, events = points.topk(7)
    assert scores.isfinite().sum() == 5
    assert (events[5:] == -1).all()


def test_an_infeasible_item_harms_no_neighbour():
    kernel = torch.stack([gram(4, 2), gram(4, 6), gram(4, 6)]).requires_grad_()
    points = KDPP(kernel, 3, lengths=torch.tensor([4, 4, 2]))
    assert points.log_partition.isfinite().tolist() == [False, True, False]
    (gradient,) = torch.autograd.grad(points.log_partition[1] + points.marginals.square().sum(), kernel)
    assert gradient.isfinite().all()
    assert (gradient[0] == 0).all()
    assert (gradient[2] == 0).all()
    with pytest.raises(InfeasibleError, match="batch item 0, 2"):
        points.sample()


def test_sizes_and_lengths_of_a_batch():
    kernel = gram(3, 5, 7)
    padded = kernel.clone()
    padded[1, 4:] = padded[1, :, 4:] = math.nan
    points = KDPP(padded, torch.tensor([2, 3, 0]), lengths=torch.tensor([5, 4, 0]))
    for i, (length, k) in enumerate([(5, 2), (4, 3), (0, 0)]):
        alone = KDPP(kernel[i, :length, :length], k)
        assert torch.allclose(points.log_partition[i], alone.log_partition)
        assert torch.allclose(points.marginals[i, :length], alone.marginals)
        assert (points.mode[i, length:] == -1).all()
        assert (points.greedy_mode[i, length:] == -1).all()
    assert points.log_partition[2] == 0
    empty = KDPP(torch.zeros(2, 0, 0), 0)
    assert empty.log_partition.tolist() == [0, 0]
    assert empty.sample((3,)).shape == (3, 2, 0)


def test_a_shared_kernel_collects_the_gradients_of_all_items():
    kernel = gram(4, 6).requires_grad_()
    scores = normal(3, 4, seed=2)
    points = KDPP(kernel, 2, scores=scores)
    assert points.batch_shape == (3,)
    (gradient,) = torch.autograd.grad(points.log_partition.sum(), kernel)
    each = [torch.autograd.grad(KDPP(kernel, 2, scores=row).log_partition, kernel)[0] for row in scores]
    assert torch.allclose(gradient, torch.stack(each).sum(0))


def test_conditioning_is_a_schur_complement_and_a_submatrix():
    kernel = gram(6, 8)
    required = torch.tensor([True, False, False, False, False, False])
    forbidden = torch.tensor([False, False, False, False, True, True])
    points = KDPP(kernel, 3).condition(required, forbidden)
    rest = kernel[1:4, 1:4] - kernel[1:4, :1] @ kernel[:1, 1:4] / kernel[0, 0]
    expected = KDPP(rest, 2)
    assert torch.allclose(points.log_partition, expected.log_partition + kernel[0, 0].log())
    assert torch.allclose(points.marginals[1:4], expected.marginals)
    assert points.marginals[0].item() == pytest.approx(1)
    assert (points.marginals[4:] == 0).all()
    drawn = points.sample((100,))
    assert (drawn[:, 0] == 1).all()
    assert (drawn[:, 4:] == 0).all()
    assert points.greedy_mode.tolist()[0] == 1


def test_samples_of_many_items_have_the_marginals():
    torch.manual_seed(0)
    points = KDPP(gram(60, 80), 12)
    drawn = points.sample((1500,))
    assert (drawn.sum(-1) == 12).all()
    assert (drawn.double().mean(0) - points.marginals).abs().max() < 5 * 0.5 / math.sqrt(1500)


def test_many_items_that_hardly_differ():
    """A kernel whose eigenvalues span sixteen orders of magnitude, in both types."""
    place = torch.linspace(0, 1, 150, dtype=torch.float64)
    kernel = (-(place - place[:, None]).square() / 0.02).exp()
    eigenvalues = torch.linalg.eigvalsh(kernel).clamp(min=1e-300)
    points = KDPP(kernel, 8)
    expected = KSubset(eigenvalues.log(), 8).log_partition
    assert torch.allclose(points.log_partition, expected, rtol=1e-8)
    assert torch.allclose(points.marginals.sum(), torch.tensor(8.0, dtype=torch.float64))
    single = KDPP((kernel + 1e-3 * torch.eye(150)).float(), 8)
    double = KDPP(kernel + 1e-3 * torch.eye(150, dtype=torch.float64), 8)
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-200, 1e-10, 1.0, 1e10, 1e200])
def test_scaling_the_kernel_only_shifts(scale):
    kernel = gram(8, 10)
    points, scaled = KDPP(kernel, 5), KDPP(scale * kernel, 5)
    assert torch.allclose(scaled.log_partition, points.log_partition + 5 * math.log(scale))
    assert torch.allclose(scaled.marginals, points.marginals)


def test_weights_that_span_any_range():
    """Items of weight exp(1e4) are in, and those of exp(-1e4) out, and the others as if there were no others."""
    kernel = torch.eye(6, dtype=torch.float64)
    scores = torch.tensor([1e4, 0.0, -1e4, 0.0, 0.0, -1e4], dtype=torch.float64)
    points = KDPP(kernel, 2, scores=scores)
    third = 1 / 3
    assert torch.allclose(points.marginals, torch.tensor([1, third, 0, third, third, 0], dtype=torch.float64))
    assert points.log_partition.item() == pytest.approx(1e4 + math.log(3))
    assert points.sample((20,))[:, 0].all()


def test_greedy_is_exact_where_items_are_independent_and_good_elsewhere():
    """The greedy determinant is at least 1 / k!^2 of the best (Civril and Magdon-Ismail 2009)."""
    weights = normal(30)
    assert torch.equal(KDPP(torch.diag(weights.exp()), 7).greedy_mode, KSubset(weights, 7).mode)
    for seed in range(20):
        points = KDPP(gram(8, 9, seed=seed), 3)
        loss = points.max_score - points.score(points.greedy_mode)
        assert 0 <= loss + 1e-12 <= 2 * math.log(math.factorial(3))


def test_greedy_takes_what_adds_most_each_time():
    kernel = gram(40, 50)
    taken: list[int] = []
    for _ in range(6):
        gains = {
            i: torch.logdet(kernel[[*taken, i]][:, [*taken, i]]).item() for i in range(40) if i not in taken
        }
        taken.append(max(gains, key=gains.__getitem__))
    assert set(KDPP(kernel, 6).greedy_mode.nonzero().flatten().tolist()) == set(taken)


MEMBERS = {
    "mode": lambda d: d.mode,
    "max_score": lambda d: d.max_score,
    "topk": lambda d: d.topk(2),
    "mbr": lambda d: d.mbr,
    "max_marginals": lambda d: d.max_marginals,
    "entropy": lambda d: d.entropy(),
    "cross_entropy": lambda d: d.cross_entropy(d),
    "log_count": lambda d: d.log_count,
    "sparsemap": lambda d: d.sparsemap(),
}


@pytest.mark.parametrize("member", MEMBERS)
def test_what_needs_enumeration_is_refused_for_many_items(member):
    with pytest.raises(
        NotImplementedError, match=r"NP-hard.* at most 12 items, but there are 13; use greedy_mode"
    ):
        MEMBERS[member](KDPP(torch.eye(13), 3))


def test_twelve_items_are_few():
    points = KDPP(torch.eye(12, dtype=torch.float64), 6)
    assert points.log_count.exp().round() == math.comb(12, 6)
    assert points.entropy().item() == pytest.approx(math.log(math.comb(12, 6)))
    assert points.mode.sum() == 6


def test_the_entropy_of_many_items_is_an_average():
    torch.manual_seed(0)
    points = KDPP(torch.eye(13, dtype=torch.float64), 3)
    average = -points.log_prob(points.sample((50,))).mean()
    assert average.item() == pytest.approx(math.log(math.comb(13, 3)))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (torch.zeros(3), r"kernel has shape \(3,\); expected batch \+ \(n, n\)"),
        (torch.zeros(2, 3), r"kernel has shape \(2, 3\); expected batch \+ \(n, n\), a row and a column"),
        (torch.eye(3).long(), "kernel has dtype torch.int64"),
        (torch.tensor([[1.0, 0.5], [0.0, 1.0]]), r"kernel is not symmetric .*\(kernel \+ kernel.mT\) / 2"),
        (
            torch.tensor([[1.0, 2.0], [2.0, 1.0]]),
            "kernel has the eigenvalue -1 for batch item 0; expected a symm",
        ),
        (
            torch.tensor([[1.0, math.nan], [math.nan, 1.0]]),
            r"kernel holds nan at batch item 0, position \(0, 1\)",
        ),
        (torch.tensor([[1.0, 0.0], [0.0, -math.inf]]), r"kernel holds -inf at batch item 0, position \(1, 1\)"),
    ],
)
def test_wrong_kernels_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        KDPP(kernel, 1)


def test_only_the_wrong_item_of_a_batch_is_named():
    kernel = torch.eye(3).repeat(3, 1, 1)
    kernel[1] -= 2 * torch.eye(3)
    with pytest.raises(ValueError, match="eigenvalue -1 for batch item 1; expected"):
        KDPP(kernel, 1)
    KDPP(kernel, 1, validate_args=False)
    KDPP(kernel, 0, lengths=torch.tensor([3, 0, 3]))


def test_wrong_sizes_and_scores_are_refused():
    for k in (-1, (1, 2)):
        with pytest.raises(ValueError, match=r"k is .*; expected a non-negative integer, or a Long.* on cpu$"):
            KDPP(torch.eye(3), k)
    with pytest.raises(
        ValueError, match=r"kernel has shape \(3, 3\), which does not fit the scores of shape \(4,\)"
    ):
        KDPP(torch.eye(3), 1, scores=torch.zeros(4))
    with pytest.raises(ValueError, match=r"omitted has shape \(2,\), which does not fit"):
        KDPP(torch.eye(3), 1, omitted=torch.zeros(2))


def test_rounding_is_no_error():
    """A kernel of low rank has eigenvalues a little below 0, and a little asymmetry does no harm."""
    kernel = gram(50, 3, seed=1).float()
    KDPP(kernel + 1e-6 * torch.randn(50, 50, generator=torch.Generator().manual_seed(0)), 2)


def test_sparse_marginals_where_the_rank_leaves_no_subset():
    kernel = gram(5, 2).float()
    with pytest.raises(InfeasibleError, match="batch item 0"):
        KDPP(kernel / kernel.diagonal().max(), 3).sparsemap()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_kernel_that_its_type_makes_indefinite_is_told_so(dtype):
    kernel = gram(6, 2, seed=1).to(dtype)
    with pytest.raises(ValueError, match=f"it was given in {dtype}, whose rounding .* compute it in float32"):
        KDPP(kernel, 2)
