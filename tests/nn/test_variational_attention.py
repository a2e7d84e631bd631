"""Variational attention: random contexts in training, their means in prediction."""

import pytest
import torch

from strukt.nn import VariationalAttention


def drawn(batch=2, t=3, n=5):
    torch.manual_seed(0)
    return torch.randn(batch, t, 4), torch.randn(batch, n, 6)


def test_contexts_are_drawn_in_training_alone():
    layer, given = VariationalAttention(4, 6, 8), drawn()
    first, second = layer(*given), layer(*given)
    assert not torch.isclose(first.context, second.context).any()
    torch.testing.assert_close(first.divergence, second.divergence)
    layer.eval()
    torch.testing.assert_close(layer(*given).context, layer(*given).context)


def test_divergence_and_contexts_have_gradients():
    layer, (queries, keys) = VariationalAttention(4, 6, 8), drawn()
    attended = layer(queries, keys.requires_grad_())
    (attended.context.sum() + attended.divergence.sum()).backward()
    assert keys.grad.isfinite().all()
    assert all(parameter.grad.any() for parameter in layer.parameters())


@pytest.mark.parametrize("prior", ["mean", "standard"])
def test_padding_counts_for_nothing(prior):
    layer, (queries, keys) = VariationalAttention(4, 6, 8, prior).eval(), drawn()
    keys[1, 3:] = torch.nan
    found = layer(queries, keys, torch.tensor([5, 3]))
    torch.testing.assert_close(found.divergence[1], layer(queries[1:], keys[1:, :3]).divergence[0])
    assert layer(queries, keys, torch.tensor([0, 0])).divergence.isfinite().all()
    assert layer(queries, keys[:, :0]).divergence.shape == (2, 3)


def test_there_are_two_priors():
    with pytest.raises(ValueError, match="prior is 'flat'; expected 'mean' or 'standard'"):
        VariationalAttention(4, 6, 8, "flat")
