"""Scores below -1e15 forbid; scores above 1e15 are refused."""

import pytest
import torch

from strukt import CTC, KDPP, LinearChain, MonotoneAlignment, NonProjectiveTree, SemiMarkov, SpanTree

MASKS = [torch.finfo(torch.float32).min, -1e30, -1.1e15]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("checked", [True, False])
def test_masks_forbid_as_minus_infinity_does(mask, checked):
    def masked(value):
        unary = torch.zeros(2, 4, 3)
        unary[:, 1, 2] = value
        transition = torch.zeros(3, 3)
        transition[0, 1] = value
        return LinearChain(unary, transition, validate_args=checked)

    mine, theirs = masked(mask), masked(-torch.inf)
    assert (mine.scores[0] == theirs.scores[0]).all()
    torch.testing.assert_close(mine.log_partition, theirs.log_partition)
    torch.testing.assert_close(mine.marginals, theirs.marginals)
    assert mine.marginals[0, 1, 2] == 0
    torch.testing.assert_close(mine.log_count, theirs.log_count)


@pytest.mark.parametrize("mask", MASKS)
def test_structures_of_masks_alone_are_infeasible(mask):
    every = [
        SemiMarkov(torch.full((1, 3, 2, 2), mask)),
        CTC(torch.full((1, 3, 2), mask), torch.tensor([[1]])),
        MonotoneAlignment(*torch.full((3, 1, 2, 2), mask)),
        NonProjectiveTree(torch.full((1, 3, 4), mask)),
        SpanTree(torch.full((1, 3, 3, 2), mask)),
    ]
    for distribution in every:
        assert distribution.log_partition == -torch.inf
        assert (distribution.marginals == 0).all()


def test_the_gradient_of_a_mask_is_zero():
    unary = torch.zeros(1, 3, 2)
    unary[0, 1, 0] = -1e30
    unary.requires_grad_()
    LinearChain(unary, torch.zeros(2, 2)).log_partition.sum().backward()
    assert unary.grad[0, 1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("value", [1.1e15, 1e30, torch.inf, torch.nan])
def test_huge_scores_are_refused(value):
    unary = torch.zeros(2, 3, 2)
    unary[1, 2, 0] = value
    with pytest.raises(ValueError, match=r"unary holds .* at batch item 1, position \(2, 0\); .*1e\+15"):
        LinearChain(unary, torch.zeros(2, 2))
    LinearChain(unary, torch.zeros(2, 2), lengths=torch.tensor([3, 2]))  # padding may hold anything


def test_scores_at_the_limits_are_taken():
    unary = torch.tensor([[[1e15, -1e15], [0.0, 0.0]]], dtype=torch.float64)
    chain = LinearChain(unary, torch.zeros(2, 2, dtype=torch.float64))
    assert 1e15 <= chain.log_partition <= 1e15 + 1
    assert chain.marginals[0, 0].tolist() == [1.0, 0.0]
    assert chain.log_count.exp().round() == 4


def test_kernels_of_determinants_are_no_logarithms():
    kernel = 1e20 * torch.eye(3, dtype=torch.float64)
    assert KDPP(kernel, 1).log_partition.isfinite()
