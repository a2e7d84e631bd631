"""Scores of bits against the formula."""

import math

import pytest
import torch

from strukt.nn import AttentionHash


@pytest.mark.parametrize(("size", "bits", "head_size"), [(8, 4, None), (7, 3, None), (3, 8, None), (6, 2, 5)])
def test_every_score_is_that_of_the_formula(size, bits, head_size):
    torch.manual_seed(0)
    layer = AttentionHash(size, bits, head_size).double()
    fenceposts = torch.randn(2, 4, size, dtype=torch.float64)
    scores = layer(fenceposts)
    assert scores.shape == (2, 4, 4, bits)
    expected_size = head_size or -(-size // bits)
    assert layer.query.shape == layer.key.shape == (bits, expected_size, size)
    for item in range(2):
        for left in range(4):
            for right in range(4):
                for bit in range(bits):
                    query = layer.query[bit] @ fenceposts[item, left]
                    key = layer.key[bit] @ fenceposts[item, right]
                    expected = query @ key / expected_size**0.5
                    torch.testing.assert_close(scores[item, left, right, bit], expected)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,)])
def test_batches_of_any_shape(batch):
    layer = AttentionHash(6, 2)
    fenceposts = torch.randn(*batch, 5, 6)
    scores = layer(fenceposts)
    assert scores.shape == (*batch, 5, 5, 2)
    for item, single in zip(fenceposts.reshape(-1, 5, 6), scores.reshape(-1, 5, 5, 2), strict=True):
        torch.testing.assert_close(layer(item), single)


def test_gradients_are_right():
    layer = AttentionHash(3, 2).double()
    fenceposts = torch.randn(1, 3, 3, dtype=torch.float64, requires_grad=True)

    def scores(fenceposts: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layer, {"query": query, "key": key}, fenceposts)

    assert torch.autograd.gradcheck(scores, (fenceposts, layer.query, layer.key))


@pytest.mark.parametrize(("size", "bits"), [(64, 8), (512, 8), (512, 16)])
def test_scores_start_with_variance_one(size, bits):
    torch.manual_seed(0)
    scores = AttentionHash(size, bits)(torch.randn(4, 60, size))
    assert 0.7 < float(scores.detach().std()) < 1.4


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_weights_begin_as_suits_the_size_of_vectors(scale):
    torch.manual_seed(0)
    layer, vectors = AttentionHash(32, 4), scale * torch.randn(100, 32)
    layer.start_from(vectors)
    assert math.isclose(float(layer(vectors).detach().std()), 1.0, rel_tol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_vectors_that_do_not_differ_leave_the_weights_alone(count):
    layer = AttentionHash(4, 2)
    before = layer.query.detach().clone()
    layer.start_from(torch.zeros(count, 4))
    assert torch.equal(layer.query, before)


def test_other_shapes_and_numbers_are_refused():
    layer = AttentionHash(4, 2)
    with pytest.raises(ValueError, match=r"fenceposts has shape \(5, 3\); expected \(\*batch, n \+ 1, 4\)"):
        layer(torch.zeros(5, 3))
    with pytest.raises(ValueError, match=r"fenceposts has dtype torch\.int64"):
        layer(torch.ones(5, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="vectors have scores of standard deviation nan; expected finite"):
        layer.start_from(torch.full((5, 4), torch.nan))
