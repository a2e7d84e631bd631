"""Attention by any mapping is PyTorch's with softmax, and exactly sparse without."""

import pytest
import torch
from tests.mappings.test_sparsemax_entmax import normal
from torch.nn.functional import scaled_dot_product_attention as dense

from strukt.mappings import entmax15, scaled_dot_product_attention, sparsemax


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.3},
        {"attn_mask": normal(5, 7, seed=4) > -1},
        {"attn_mask": normal(2, 1, 5, 7, seed=4)},
    ],
)
def test_with_softmax_it_is_that_of_pytorch(options):
    query, key, value = normal(2, 3, 5, 8), normal(2, 3, 7, 8, seed=1), normal(2, 3, 7, 4, seed=2)
    found = scaled_dot_product_attention(query, key, value, mapping=softmax, **options)
    assert torch.allclose(found, dense(query, key, value, **options))


def test_groups_of_heads_share_keys():
    query, key, value = normal(2, 6, 5, 8), normal(2, 3, 7, 8, seed=1), normal(2, 3, 7, 4, seed=2)
    found = scaled_dot_product_attention(query, key, value, enable_gqa=True, mapping=softmax)
    assert torch.allclose(found, dense(query, key, value, enable_gqa=True))


@pytest.mark.parametrize(("heads", "of_keys"), [(1, 2), (3, 2), (2, 0)])
def test_heads_that_cannot_share_keys_are_refused(heads, of_keys):
    query, key = normal(2, heads, 5, 8), normal(2, of_keys, 7, 8, seed=1)
    with pytest.raises(ValueError, match=r"key has shape .* a multiple of that of key"):
        scaled_dot_product_attention(query, key, key, enable_gqa=True)


@pytest.mark.parametrize("mapping", [sparsemax, entmax15])
def test_weights_are_those_of_the_mapping(mapping):
    query, key, value = (
        normal(2, 5, 8),
        normal(2, 7, 8, seed=1),
        torch.eye(7, dtype=torch.float64).expand(2, 7, 7),
    )
    found = scaled_dot_product_attention(query, key, value, mapping=mapping)
    assert torch.allclose(found, mapping(query @ key.mT / 8**0.5))
    assert (found == 0).any()


def test_a_query_that_may_look_nowhere_gets_zeros():
    mask = torch.tensor([[True, False], [False, False]])
    leaf = normal(1, 2, 3).requires_grad_()
    found = scaled_dot_product_attention(leaf, leaf, torch.ones(1, 2, 4, dtype=torch.float64), mask)
    assert torch.equal(found[0], torch.tensor([[1.0] * 4, [0.0] * 4], dtype=torch.float64))
    found.sum().backward()
    assert leaf.grad.isfinite().all()


def test_dropout_drops_whole_weights():
    torch.manual_seed(0)
    query = torch.zeros(1, 1000, 4)
    found = scaled_dot_product_attention(query, query[:, :2], torch.ones(1, 2, 1), dropout_p=0.5)
    assert sorted(found.unique().tolist()) == [0.0, 1.0, 2.0]
    assert abs(found.mean().item() - 1.0) < 0.1


def test_messages_name_the_misfit():
    x = torch.zeros(1, 2, 3)
    with pytest.raises(ValueError, match="both attn_mask and is_causal"):
        scaled_dot_product_attention(x, x, x, torch.ones(2, 2, dtype=torch.bool), is_causal=True)
    with pytest.raises(ValueError, match=r"dropout_p is 1.5"):
        scaled_dot_product_attention(x, x, x, dropout_p=1.5)
    # Masks of tokenizers hold 1 for words; added to scores, they would mask nothing.
    with pytest.raises(ValueError, match=r"attn_mask has dtype torch\.int64; expected Booleans"):
        scaled_dot_product_attention(x, x, x, torch.tensor([[1, 0]]))
