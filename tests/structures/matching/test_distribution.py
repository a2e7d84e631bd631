"""Matchings: counts by formula, ranking of many rows, exchanges, the limit of sums, sizes."""

import itertools
import math

import pytest
import torch
from scipy.optimize import linear_sum_assignment
from tests.scores import normal

from strukt import InfeasibleError, Matching
from strukt.structures.matching.reference import MOST_ROWS


def forbid(n: int, m: int, pairs) -> torch.Tensor:
    scores = torch.zeros(n, m, dtype=torch.float64)
    for i, j in pairs:
        scores[i, j] = -math.inf
    return scores


@pytest.mark.parametrize(
    ("n", "m"), [(0, 0), (0, 3), (1, 1), (1, 5), (3, 3), (4, 7), (9, 9), (16, 16), (5, 40)]
)
def test_the_number_of_matchings_is_a_falling_factorial(n, m):
    assert Matching(torch.zeros(n, m)).log_count.item() == pytest.approx(
        math.log(math.perm(m, n)), rel=1e-6, abs=1e-6
    )


@pytest.mark.parametrize(("n", "count"), [(2, 1), (3, 2), (4, 9), (5, 44), (8, 14833), (12, 176214841)])
def test_derangements(n, count):
    found = Matching(forbid(n, n, [(i, i) for i in range(n)])).log_partition.exp()
    assert found.item() == pytest.approx(count)


def test_single_precision_and_extreme_scores():
    scores = normal(11, 13)
    single, double = Matching(scores.float()), Matching(scores)
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=1e-6)
    assert torch.allclose(single.marginals.double(), double.marginals, atol=1e-6)
    steep = Matching(1e4 * scores)
    assert torch.allclose(steep.marginals, steep.to_parts(steep.mode))
    assert steep.entropy().abs() < 1e-9
    assert torch.allclose(steep.log_partition, steep.max_score)


@pytest.mark.parametrize("seed", range(15))
def test_the_gradient_of_max_marginals_is_the_parts_of_these_matchings(seed):
    n, m = 1 + seed % 5, 1 + seed % 5 + seed // 5 % 3
    scores, weights = normal(n, m, seed=seed), normal(n, m, seed=seed + 50)
    forbidden = normal(n, m, seed=seed + 100) > 0.8
    scores = scores.masked_fill(forbidden, -math.inf).requires_grad_()
    events = torch.tensor(list(itertools.permutations(range(m), n)))
    totals = scores[torch.arange(n), events].sum(-1)
    expected, possible = torch.zeros(n, m).double(), torch.zeros(n, m, dtype=torch.bool)
    for row, column in itertools.product(range(n), range(m)):
        best = torch.where(events[:, row] == column, totals.detach(), -math.inf).max(0)
        if best.values > -math.inf:
            possible[row, column] = True
            expected[torch.arange(n), events[best.indices]] += weights[row, column]
    found = Matching(scores).max_marginals
    assert torch.equal(found > -math.inf, possible)
    (gradient,) = torch.autograd.grad(found[possible] @ weights[possible], scores)
    assert torch.allclose(gradient, expected)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 7), (12, 12)])
@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_of_max_marginals_is_one_matching_where_all_tie_up_to_rounding(n, m, seed):
    scores = (normal(n, 1, seed=seed) + normal(1, m, seed=seed + 50)).requires_grad_()
    found = Matching(scores).max_marginals
    for row, column in itertools.product(range(n), range(m)):
        (parts,) = torch.autograd.grad(found[row, column], scores, retain_graph=True)
        assert set(parts.unique().tolist()) <= {0, 1}
        assert (parts.sum(1) == 1).all()
        assert (parts.sum(0) <= 1).all()
        assert parts[row, column] == 1
        assert torch.allclose((parts * scores).sum(), found[row, column])


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 9), (31, 33), (65, 65), (200, 200)])
def test_the_mode_of_any_size_is_an_assignment(n, m):
    scores = normal(n, m)
    rows, columns = linear_sum_assignment(scores.numpy(), maximize=True)
    found = Matching(scores)
    assert found.max_score.item() == pytest.approx(scores[rows, columns].sum().item())
    assert found.is_structure(found.mode)


def test_many_rows_are_ranked():
    scores = normal(40, 45)
    matching = Matching(scores)
    ranked, events = matching.topk(30)
    assert torch.equal(events[0], matching.mode)
    assert (ranked.diff() <= 0).all()
    assert len(torch.unique(events, dim=0)) == 30
    assert matching.is_structure(events).all()
    second = max(
        Matching(scores.index_put((torch.tensor(row), column), torch.tensor(-math.inf).double())).max_score
        for row, column in enumerate(matching.mode)
    )
    assert torch.allclose(ranked[1], second)


def test_max_marginals_of_many_rows():
    matching = Matching(normal(150, 160))
    found = matching.max_marginals
    assert torch.allclose(found.amax(1), matching.max_score.expand(150))
    assert torch.equal(found.argmax(1), matching.mode)


def test_rows_that_share_too_few_columns_have_no_matching():
    """Hall (1935): three rows with two columns between them."""
    scores = normal(2, 4, 5)
    scores[1, :3, 2:] = -math.inf
    matching = Matching(scores)
    assert matching.log_partition[1] == matching.max_score[1] == -math.inf
    assert (matching.max_marginals[1] == -math.inf).all()
    assert (matching.marginals[1] == 0).all()
    with pytest.raises(InfeasibleError, match="batch item 1"):
        _ = matching.mode


def test_more_rows_than_can_be_summed():
    matching = Matching(torch.zeros(MOST_ROWS + 1, 20))
    for member in ("log_partition", "marginals", "log_count", "mbr"):
        with pytest.raises(
            NotImplementedError, match=r"#P-complete.*n = 17 rows .* sparsemap\(\).* belief_propagation"
        ):
            getattr(matching, member)
    for method in (matching.entropy, matching.sample, lambda: matching.cross_entropy(matching)):
        with pytest.raises(NotImplementedError, match="#P-complete"):
            method()


def test_sparse_marginals_of_more_rows_than_can_be_summed():
    scores = 3 * normal(25, 25)
    found = Matching(scores).sparsemap()
    ones = torch.ones(25, dtype=torch.float64)
    assert torch.allclose(found.marginals.sum(0), ones)
    assert torch.allclose(found.marginals.sum(1), ones)
    gain = scores - found.marginals
    best = Matching(gain).max_score
    assert torch.allclose(best, (gain * found.marginals).sum())


def test_columns_are_as_many_as_rows_at_least():
    with pytest.raises(ValueError, match=r"scores has shape \(2, 4, 3\): 4 rows .* n <= m, e.g. scores.mT"):
        Matching(torch.zeros(2, 4, 3))


def test_the_default_device_plays_no_part():
    matching = Matching(torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)))
    expected = matching.entropy()
    with torch.device("meta"):
        assert torch.equal(matching.entropy(), expected)
        assert matching.mode.device.type == "cpu"
