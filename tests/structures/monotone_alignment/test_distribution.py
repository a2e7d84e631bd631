"""Monotone alignments: known scores, counts, soft-DTW and affine gaps as special cases, wrong arguments."""

import math

import pytest
import torch
from tests.scores import normal
from torch.distributions import kl_divergence

from strukt.distributions import MonotoneAlignment

MATCH, INSERT, DELETE = 0, 1, 2


def words(one: str, two: str, same: float, other: float, gap: float) -> MonotoneAlignment:
    """The alignments of two words, with an empty position before each so that they may begin with gaps."""
    match = torch.zeros(len(one) + 1, len(two) + 1)
    for i, a in enumerate(one, 1):
        for j, b in enumerate(two, 1):
            match[i, j] = same if a == b else other
    return MonotoneAlignment(match, torch.tensor(gap), torch.tensor(gap))


@pytest.mark.parametrize(
    ("one", "two", "distance"),
    [
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("intention", "execution", 5),
        ("", "abc", 3),
        ("", "", 0),
    ],
)
def test_the_edit_distance(one, two, distance):
    """Levenshtein (1966)."""
    assert words(one, two, 0.0, -1.0, -1.0).max_score == -distance


def test_the_example_of_needleman_and_wunsch():
    """GCATGCG and GATTACA, 1 for a match and -1 else: the best score is 0, reached in three ways."""
    alignment = words("GCATGCG", "GATTACA", 1.0, -1.0, -1.0)
    scores, events = alignment.topk(4)
    assert scores.tolist() == [0, 0, 0, -1]
    assert alignment.is_structure(events).all()


def delannoy(i: int, j: int) -> int:
    return sum(math.comb(i, k) * math.comb(j, k) * 2**k for k in range(min(i, j) + 1))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5), (5, 1), (2, 2), (3, 7), (9, 4), (12, 12), (2, 30)])
def test_the_number_of_paths_is_a_delannoy_number(n, m):
    scores = torch.zeros(n, m, 3, dtype=torch.float64)
    assert MonotoneAlignment.from_moves(scores).log_count.exp().round() == delannoy(n - 1, m - 1)
    if n * m < 30:
        assert len(MonotoneAlignment.from_moves(scores).enumerate_support()) == delannoy(n - 1, m - 1)


def test_one_empty_sequence_has_no_alignment_and_two_have_one():
    match = normal(4, 3, 2)
    zero = torch.zeros((), dtype=torch.float64)
    rows, columns = torch.tensor([0, 0, 3, 3]), torch.tensor([0, 2, 0, 2])
    alignment = MonotoneAlignment(match, zero, zero, lengths=rows, target_lengths=columns)
    assert alignment.log_count.exp().round().tolist() == [1, 0, 0, 5]
    assert alignment.log_partition[0] == 0
    assert (alignment.marginals[:3] == 0).all()
    assert alignment.is_structure(torch.full((4, 3, 2), -1)).tolist() == [True, False, False, False]


@pytest.mark.parametrize(("n", "m"), [(0, 2), (2, 0)])
def test_grids_without_cells_have_no_path(n, m):
    alignment = MonotoneAlignment.from_moves(torch.zeros(2, n, m, 3, requires_grad=True))
    assert alignment.log_partition.tolist() == alignment.max_score.tolist() == [-math.inf] * 2
    assert alignment.topk(2)[0].tolist() == [[-math.inf] * 2] * 2
    assert alignment.entropy().tolist() == [0, 0]
    assert alignment.marginals.shape == alignment.max_marginals.shape == (2, n, m, 3)


def soft_dtw(costs: torch.Tensor, gamma: float) -> torch.Tensor:
    """Cuturi and Blondel (2017), algorithm 1."""
    n, m = costs.shape
    value = [[costs.new_tensor(math.inf)] * (m + 1) for _ in range(n + 1)]
    value[0][0] = costs.new_zeros(())
    for i in range(n):
        for j in range(m):
            before = torch.stack([value[i][j], value[i][j + 1], value[i + 1][j]])
            value[i + 1][j + 1] = costs[i, j] - gamma * (-before / gamma).logsumexp(0)
    return value[n][m]


@pytest.mark.parametrize("gamma", [0.01, 0.5, 1.0, 10.0])
def test_soft_dtw_is_a_limiting_case(gamma):
    """All moves into a cell cost what the cell does; the gradient is the expected alignment."""
    one, two = normal(6), normal(9, seed=1)
    costs = (one[:, None] - two).square().requires_grad_()
    scores = -costs / gamma
    value = -gamma * MonotoneAlignment(scores, scores, scores).log_partition
    expected = soft_dtw(costs, gamma)
    assert torch.allclose(value, expected, rtol=1e-10)
    (gradient,) = torch.autograd.grad(value, costs, retain_graph=True)
    (right,) = torch.autograd.grad(expected, costs)
    assert torch.allclose(gradient, right, atol=1e-10)
    assert torch.allclose(MonotoneAlignment(scores, scores, scores).visits, right, atol=1e-10)


def gotoh(match: torch.Tensor, extend: float, opening: float) -> float:
    """The best score with affine gaps, by three tables (Gotoh 1982)."""
    n, m = match.shape
    best = torch.full((3, n, m), -math.inf, dtype=torch.float64)
    best[MATCH, 0, 0] = match[0, 0]
    for i in range(n):
        for j in range(m):
            if i and j:
                best[MATCH, i, j] = best[:, i - 1, j - 1].max() + match[i, j]
            if j:
                opened = torch.stack([best[MATCH, i, j - 1], best[DELETE, i, j - 1]]).max() + opening
                best[INSERT, i, j] = torch.maximum(opened, best[INSERT, i, j - 1]) + extend
            if i:
                opened = torch.stack([best[MATCH, i - 1, j], best[INSERT, i - 1, j]]).max() + opening
                best[DELETE, i, j] = torch.maximum(opened, best[DELETE, i - 1, j]) + extend
    return best[:, -1, -1].max().item()


@pytest.mark.parametrize("seed", range(5))
def test_affine_gaps_are_those_of_gotoh(seed):
    match = normal(8, 5, seed=seed)
    opening = torch.tensor([[0.0, -1.5, -1.5], [0.0, 0.0, -1.5], [0.0, -1.5, 0.0]], dtype=torch.float64)
    gap = torch.tensor(-0.1, dtype=torch.float64)
    found = MonotoneAlignment(match, gap, gap, opening).max_score
    assert math.isclose(found, gotoh(match, -0.1, -1.5), rel_tol=1e-12)


def test_transition_marginals_are_the_gradient():
    transition = normal(3, 3).requires_grad_()
    alignment = MonotoneAlignment.from_moves(normal(2, 4, 3, 3), transition)
    (gradient,) = torch.autograd.grad(alignment.log_partition.sum(), transition)
    expected = alignment.transition_marginals
    assert expected.shape == (2, 3, 3)
    assert torch.allclose(expected.sum(0), gradient)
    visits = alignment.visits.flatten(1).sum(1)
    assert torch.allclose(expected.flatten(1).sum(1), visits - 1)


def test_every_path_visits_both_corners():
    alignment = MonotoneAlignment.from_moves(
        normal(3, 6, 5, 3), None, torch.tensor([6, 1, 4]), torch.tensor([5, 3, 1])
    )
    visits = alignment.visits
    one = torch.ones((), dtype=torch.float64)
    assert torch.allclose(visits[:, 0, 0], one)
    assert torch.allclose(visits[[0, 1, 2], [5, 0, 3], [4, 2, 0]], one)
    assert (alignment.marginals[:, 0, 0, 1:] == 0).all()
    assert alignment.mode[1].tolist()[0] == [0, 1, 1, -1, -1]
    assert alignment.mode[2, :, 0].tolist() == [0, 2, 2, 2, -1, -1]


def test_a_required_cell_cannot_be_passed_by():
    """Nor by a match that jumps over it."""
    alignment = MonotoneAlignment.from_moves(torch.zeros(4, 5, 3, dtype=torch.float64))
    event = torch.full((4, 5), -1)
    for i in range(4):
        for j in range(5):
            required = torch.zeros(4, 5, 3, dtype=torch.bool)
            required[i, j, MATCH] = True
            given = alignment.condition(required=required)
            before = (i == j == 0) or (delannoy(i - 1, j - 1) if i and j else 0)
            assert given.log_count.exp().round() == before * delannoy(3 - i, 4 - j)
            assert given.visits[i, j].round() == (1 if before else 0)
    known = torch.ones(4, 5, dtype=torch.bool)
    assert alignment.partial_log_prob(event, known) == -math.inf


def test_padding_beyond_either_length_is_not_read():
    moves = normal(2, 5, 4, 3)
    rows, columns = torch.tensor([3, 5]), torch.tensor([4, 2])
    torn = moves.clone()
    torn[0, 3:] = torn[1, :, 2:] = torch.nan
    kept = MonotoneAlignment.from_moves(moves, None, rows, columns)
    other = MonotoneAlignment.from_moves(torn, None, rows, columns)
    assert torch.equal(kept.marginals, other.marginals)
    assert torch.equal(kept.mode, other.mode)
    short = MonotoneAlignment.from_moves(moves[1, :, :2])
    assert torch.allclose(kept.log_partition[1], short.log_partition)


def test_other_lengths_are_other_structures():
    moves = torch.zeros(1, 3, 3, 3)
    alignment = MonotoneAlignment.from_moves(moves, validate_args=True)
    with pytest.raises(ValueError, match="other differs from this distribution in target_lengths"):
        kl_divergence(alignment, MonotoneAlignment.from_moves(moves, None, None, torch.tensor([2])))
    with pytest.raises(NotImplementedError, match="items of different target_lengths"):
        MonotoneAlignment.from_moves(
            moves.repeat(2, 1, 1, 1), None, None, torch.tensor([2, 3])
        ).enumerate_support()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"match": torch.zeros(3)}, r"match has shape \(3,\); expected batch \+ \(n, m\)"),
        (
            {"insert": torch.zeros(3, 3)},
            r"insert has shape \(3, 3\); expected one that broadcasts to \(2, 3, 4\)",
        ),
        ({"delete": torch.zeros(2, dtype=torch.int64)}, r"delete has dtype torch.int64"),
        ({"transition": torch.zeros(2, 2)}, r"transition has shape \(2, 2\); expected \(3, 3\).*\(2, 3, 3\)"),
        ({"transition": torch.zeros(5, 3, 3)}, r"transition has shape \(5, 3, 3\)"),
        (
            {"delete": torch.full((3, 4), torch.inf)},
            r"moves \(match, insert, delete\) holds inf at batch item 0, position \(0, 0, 2\)",
        ),
        ({"target_lengths": torch.tensor([4, 5])}, r"target_lengths holds .*expected 0 to 4"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    arguments = {name: torch.zeros(2, 3, 4) for name in ("match", "insert", "delete")} | change
    with pytest.raises(ValueError, match=message):
        MonotoneAlignment(**arguments, validate_args=True)


def test_two_moves_are_too_few_and_many_paths_are_not_enumerated():
    with pytest.raises(ValueError, match=r"moves has shape \(3, 4, 2\); expected batch \+ \(n, m, 3\)"):
        MonotoneAlignment.from_moves(torch.zeros(3, 4, 2))
    with pytest.raises(ValueError, match="paths through 12 x 12 cells are too many"):
        MonotoneAlignment.from_moves(torch.zeros(12, 12, 3)).enumerate_support()
