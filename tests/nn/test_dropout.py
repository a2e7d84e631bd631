"""Dropout that is the same for all positions."""

import pytest
import torch

from strukt.nn import SharedDropout


def test_a_feature_is_dropped_at_every_position_or_at_none():
    torch.manual_seed(0)
    dropped = SharedDropout(0.5)(torch.ones(3, 7, 50))
    assert torch.equal(dropped, dropped[:, :1].expand(-1, 7, -1))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}


def test_items_have_masks_of_their_own():
    torch.manual_seed(0)
    dropped = SharedDropout(0.5)(torch.ones(2, 1, 100))
    assert not torch.equal(dropped[0], dropped[1])


def test_the_mean_is_kept():
    torch.manual_seed(0)
    assert SharedDropout(0.3)(torch.ones(200, 1, 200)).mean().item() == pytest.approx(1, abs=0.02)


def test_nothing_is_dropped_in_prediction():
    x = torch.randn(2, 3, 4)
    assert torch.equal(SharedDropout(0.5).eval()(x), x)


@pytest.mark.parametrize("p", [-0.1, 1.0])
def test_a_probability_out_of_range_is_refused(p):
    with pytest.raises(ValueError, match=r"p is .*; expected a probability in \[0, 1\)"):
        SharedDropout(p)


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_positions_are_the_axis_before_the_features(batch):
    torch.manual_seed(0)
    dropped = SharedDropout(0.5)(torch.ones(*batch, 7, 50))
    assert torch.equal(dropped, dropped[..., :1, :].expand_as(dropped))
    first, *others = dropped[..., 0, :].reshape(-1, 50)
    assert set(first.tolist()) == {0.0, 2.0}
    assert not any(torch.equal(first, other) for other in others)


def test_one_position_needs_no_axis():
    assert SharedDropout(0.5)(torch.ones(5)).shape == (5,)
