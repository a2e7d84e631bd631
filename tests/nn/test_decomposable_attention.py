"""Decomposable attention in batches; its equations are tested in fidelity."""

import pytest
import torch

from strukt.nn import DecomposableAttention, StructuredAttention
from strukt.nn.structured_attention import KINDS

LENGTHS = torch.tensor([[4, 3], [2, 3], [1, 1]])


def layer(kind="softmax"):
    torch.manual_seed(0)
    return DecomposableAttention(5, 6, 3, StructuredAttention(kind)).double().eval()


def drawn():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(3, n, 5, dtype=torch.float64, generator=generator) for n in (4, 3)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_gives_what_its_items_give_and_padding_counts_for_nothing(kind):
    model, given = layer(kind), drawn()
    for side, words in enumerate(given):
        outside = torch.arange(words.shape[1]) >= LENGTHS[:, side : side + 1]
        words[outside] = torch.nan
        words.requires_grad_()
    scores = model(*given, LENGTHS).scores
    for item, (n, m) in enumerate(LENGTHS.tolist()):
        alone = model(given[0][[item], :n], given[1][[item], :m]).scores
        torch.testing.assert_close(scores[[item]], alone, atol=1e-5, rtol=0)
    scores.sum().backward()
    assert all(words.grad.isfinite().all() for words in given)
    for parameter in model.parameters():
        assert parameter.grad.isfinite().all()
        assert parameter.grad.any()


def test_an_attention_that_is_none_is_refused():
    with pytest.raises(TypeError, match="attention is 'matching'; expected a StructuredAttention"):
        DecomposableAttention(4, 5, 3, "matching")
