"""Shapes that broadcast, as PyTorch has them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strukt
from strukt.checks.arguments import broadcast_shapes

shapes = st.lists(st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4).map(torch.Size), max_size=4)


@given(shapes)
def test_the_shape_is_that_of_pytorch(given_shapes):
    try:
        expected = torch.broadcast_shapes(*given_shapes)
    except RuntimeError:
        with pytest.raises(RuntimeError, match="do not broadcast"):
            broadcast_shapes(*given_shapes)
        return
    assert broadcast_shapes(*given_shapes) == expected


def test_sparse_lengths_are_refused():
    with pytest.raises(ValueError, match=r"lengths is sparse \(torch.sparse_coo\); expected a dense tensor"):
        strukt.LinearChain(torch.zeros(3, 4, 5), torch.zeros(5, 5), torch.tensor([1, 2, 3]).to_sparse())
