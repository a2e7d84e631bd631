"""Independent choices: the k best ways to make them, against all ways; draws, against probabilities."""

import itertools

import pytest
import torch

from strukt.kernels.choices import best_combinations, draw, expected_surprise, ranks

NEG_INF = float("-inf")


def descending(*shape: int, seed: int = 0) -> torch.Tensor:
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return scores.sort(-1, descending=True).values


@pytest.mark.parametrize(("n", "c"), [(0, 2), (1, 3), (3, 3), (5, 2), (4, 1)])
@pytest.mark.parametrize("k", [1, 2, 5, 100])
def test_the_best_combinations_are_the_best_of_all(n, c, k):
    scores = descending(2, 3, n, c)
    totals, steps = best_combinations(scores, k)
    every = torch.tensor(list(itertools.product(range(c), repeat=n)), dtype=torch.long).reshape(c**n, n)
    for item, row in itertools.product(range(2), range(3)):
        expected = scores[item, row].gather(1, every.T).sum(0).sort(descending=True).values[:k]
        torch.testing.assert_close(totals[item, row], expected)
        ways = torch.arange(len(expected))
        chosen = ranks(steps, torch.full((2, len(ways)), row), ways.expand(2, -1))[item]
        torch.testing.assert_close(scores[item, row].gather(1, chosen.T).sum(0), expected)
        assert len({tuple(way) for way in chosen.tolist()}) == len(expected)


def test_forbidden_alternatives_come_last():
    scores = torch.tensor([[[0.0, NEG_INF], [3.0, 1.0]]])
    totals, _ = best_combinations(scores, 4)
    assert totals.tolist() == [[3.0, 1.0, NEG_INF, NEG_INF]]


@pytest.mark.parametrize("c", [1, 2, 3, 7, 8])
def test_draws_have_the_right_frequencies(c):
    torch.manual_seed(0)
    weights = torch.rand(2, 3, c, dtype=torch.float64)
    if c > 2:
        weights[..., [0, c - 1]] = 0.0  # never drawn, at either end
    rows = torch.randint(3, (2, 30_000))
    drawn = draw(weights.cumsum(-1), rows)
    for item, row in itertools.product(range(2), range(3)):
        of_row = drawn[item][rows[item] == row]
        found = torch.bincount(of_row, minlength=c) / len(of_row)
        expected = weights[item, row] / weights[item, row].sum()
        torch.testing.assert_close(found.double(), expected, rtol=0.0, atol=0.02)
        assert (found[weights[item, row] == 0] == 0).all()


def test_surprise_is_infinite_only_where_something_is_used():
    log_p = torch.tensor([[[0.5, 0.5], [0.5, 0.5]]]).log()
    log_q = torch.tensor([[[0.5, 0.5], [1.0, 0.0]]]).log()
    assert expected_surprise(torch.tensor([[1.0, 0.0]]), log_p, log_q).item() == pytest.approx(
        0.6931, abs=1e-4
    )
    assert expected_surprise(torch.tensor([[0.5, 0.5]]), log_p, log_q).item() == float("inf")
    used = torch.tensor([[1.0, 0.0]], requires_grad=True)
    (gradient,) = torch.autograd.grad(expected_surprise(used, log_p, log_q).sum(), used)
    assert gradient.isfinite().all()
