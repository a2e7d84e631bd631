"""Dropout that is the same for all positions."""

import pytest
import torch

from strukt.nn import SharedDropout


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_a_feature_of_an_item_is_dropped_at_every_position_or_at_none(batch):
    torch.manual_seed(0)
    dropped = SharedDropout(0.5)(torch.ones(*batch, 7, 50))
    assert torch.equal(dropped, dropped[..., :1, :].expand_as(dropped))
    first, *others = dropped[..., 0, :].reshape(-1, 50)
    assert set(first.tolist()) == {0.0, 2.0}
    assert not any(torch.equal(first, other) for other in others)


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


def test_one_position_needs_no_axis():
    assert SharedDropout(0.5)(torch.ones(5)).shape == (5,)
