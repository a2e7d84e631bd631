"""Checks of values: what they say, and that they also run under vmap."""

import pytest
import torch

from strukt.checks import guards
from strukt.checks.guards import ONWARD, UNBOUNDED
from strukt.errors import InfeasibleError, OutOfRangeError


def test_scores_may_be_minus_infinity_and_anything_in_the_padding():
    scores = torch.tensor([[0.0, -torch.inf, torch.nan], [1.0, 2.0, 3.0]])
    guards.require_scores(scores, torch.tensor([2, 3]), [0], "unary")


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_wrong_scores_are_named_with_their_place(wrong):
    scores = torch.zeros(2, 3, 2)
    scores[1, 2, 0] = wrong
    with pytest.raises(ValueError, match=rf"unary holds {wrong} at batch item 1, position \(2, 0\)"):
        guards.require_scores(scores, torch.tensor([3, 3]), [0, UNBOUNDED], "unary")


def test_infeasible_items_are_named():
    scores = torch.full((8,), -torch.inf)
    scores[3] = 0.0
    with pytest.raises(InfeasibleError, match="batch item 0, 1, 2, 4, 5 and 2 more"):
        guards.require_feasible(torch.zeros(8, 2), scores)


def test_guards_see_through_vmap():
    def guarded(lengths: torch.Tensor) -> torch.Tensor:
        guards.require_lengths(lengths, 3)
        return lengths

    assert torch.func.vmap(guarded)(torch.tensor([[1, 2], [3, 0]])).shape == (2, 2)
    with pytest.raises(ValueError, match="holds 9"):
        torch.func.vmap(guarded)(torch.tensor([[1, 2], [3, 9]]))


def test_within_combines_the_axes():
    mask = guards.within(torch.tensor([1, 2]), torch.Size([2, 3]), [0, 1])
    assert mask.tolist() == [
        [[True, True, False], [False, False, False]],
        [[True, True, True], [True, True, True]],
    ]


def test_an_onward_axis_shares_the_length_with_the_axis_before_it():
    mask = guards.within(torch.tensor([1, 3, 0]), torch.Size([3, 2, 2]), [0, ONWARD, UNBOUNDED])
    assert mask.shape == (3, 3, 2, 1)
    assert mask[0, ..., 0].tolist() == [[True, False], [False, False], [False, False]]
    assert mask[1, ..., 0].tolist() == [[True, True], [True, True], [True, False]]
    assert not mask[2].any()


def test_scores_beyond_the_length_on_an_onward_axis_are_ignored():
    scores = torch.zeros(1, 3, 2, 1)
    scores[0, 1, 1] = torch.nan
    guards.require_scores(scores, torch.tensor([2]), [0, ONWARD, UNBOUNDED], "segments")
    with pytest.raises(ValueError, match=r"segments holds nan at batch item 0, position \(1, 1, 0\)"):
        guards.require_scores(scores, torch.tensor([3]), [0, ONWARD, UNBOUNDED], "segments")


@pytest.mark.parametrize(
    ("wrong", "error"), [(torch.nan, OutOfRangeError), (torch.inf, OutOfRangeError), (9.0, ValueError)]
)
def test_values_that_are_no_numbers_are_out_of_range_and_others_are_not(wrong, error):
    values = torch.tensor([[0.0, wrong]])
    with pytest.raises(ValueError, match=rf"x holds {wrong} at batch item 0, position 1; expected less") as caught:
        guards.require_values(values, values < 1.0, "x", "less")
    assert type(caught.value) is error
