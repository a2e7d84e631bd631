"""Decomposable attention: its equations, written out, and padding that counts for nothing."""

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
def test_its_equations(kind):
    model, (premises, hypotheses) = layer(kind), drawn()
    found = model(premises, hypotheses, LENGTHS)
    for item, (n, m) in enumerate(LENGTHS.tolist()):
        a, b = premises[item, :n] @ model.project.weight.T, hypotheses[item, :m] @ model.project.weight.T
        products = [torch.stack([model.attend(x) @ model.attend(y) for y in b]) for x in a]
        scores = torch.stack(products) / 6**0.5
        alignment = model.attention(scores.unsqueeze(0))
        torch.testing.assert_close(found.alignment.weights[item, :n, :m], alignment.weights[0])
        first, second = torch.zeros(2, 6, dtype=torch.float64)
        for i in range(n):
            beta = sum(alignment.of_rows[0, i, j] * b[j] for j in range(m))
            first = first + model.compare(torch.cat([a[i], beta]))
        for j in range(m):
            alpha = sum(alignment.of_columns[0, i, j] * a[i] for i in range(n))
            second = second + model.compare(torch.cat([b[j], alpha]))
        expected = model.score(model.aggregate(torch.cat([first, second])))
        torch.testing.assert_close(found.scores[item], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_counts_for_nothing(kind):
    model, given = layer(kind), drawn()
    expected = model(*given, LENGTHS).scores
    for side, words in enumerate(given):
        outside = torch.arange(words.shape[1]) >= LENGTHS[:, side : side + 1]
        words[outside] = torch.nan
        words.requires_grad_()
    scores = model(*given, LENGTHS).scores
    torch.testing.assert_close(scores, expected)
    scores.sum().backward()
    assert all(words.grad.isfinite().all() for words in given)
    for parameter in model.parameters():
        assert parameter.grad.isfinite().all()
        assert parameter.grad.any()


def test_the_softmax_reads_no_order():
    model, (premises, hypotheses) = layer(), drawn()
    lengths = torch.tensor([[4, 3]] * 3)
    there = model(premises, hypotheses, lengths).scores
    torch.testing.assert_close(model(premises.flip(1), hypotheses.flip(1), lengths).scores, there)


def test_an_attention_that_is_none_is_refused():
    with pytest.raises(TypeError, match="attention is 'matching'; expected a StructuredAttention"):
        DecomposableAttention(4, 5, 3, "matching")
