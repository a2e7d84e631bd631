"""Attention of all kinds: one interface, padding that counts for nothing, and mean field as the CRF has it."""

from __future__ import annotations

import pytest
import torch

from strukt.nn import AdditiveAttention, DotProductAttention, MeanFieldAttention

MEAN_FIELD = [MeanFieldAttention, MeanFieldAttention.of_perceptrons]
KINDS = [DotProductAttention, AdditiveAttention, *MEAN_FIELD]


def drawn(batch=2, t=3, n=5, seed=0):
    torch.manual_seed(seed)
    return torch.randn(batch, t, 4, dtype=torch.float64), torch.randn(batch, n, 6, dtype=torch.float64)


def mean_field(iterations=5, scale=1.0, **options):
    torch.manual_seed(1)
    layer = MeanFieldAttention(4, 6, 8, iterations, **options).double()
    with torch.no_grad():
        layer.interaction.copy_(torch.randn(8) * scale / 8)
    return layer


@pytest.mark.parametrize("kind", KINDS)
def test_the_context_is_the_weighted_sum_and_padding_counts_for_nothing(kind):
    layer = kind(4, 6, 8).double()
    queries, keys = drawn()
    padded = torch.cat([keys, torch.full((2, 2, 6), torch.nan, dtype=torch.float64)], 1)
    padded[1, 3:] = torch.nan
    found = layer(queries, padded, torch.tensor([5, 3]))
    torch.testing.assert_close(found.context[0], found.weights[0, :, :5] @ keys[0])
    assert not found.weights[0, :, 5:].any()
    assert not found.weights[1, :, 3:].any()
    alone = layer(queries[1:], keys[1:, :3])
    torch.testing.assert_close(found.weights[1, :, :3], alone.weights[0])
    torch.testing.assert_close(found.context[1], alone.context[0])
    if kind not in MEAN_FIELD:
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(2, 3, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("batch", "t", "n"), [(0, 3, 5), (2, 0, 5), (2, 3, 0)])
def test_nothing_at_all(kind, batch, t, n):
    queries, keys = drawn(batch, t, n)
    found = kind(4, 6, 8).double()(queries, keys)
    assert found.weights.shape == (batch, t, n)
    assert not found.context.any()
    queries, keys = drawn()
    assert not kind(4, 6, 8).double()(queries, keys, torch.tensor([0, 0])).weights.any()


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    layer = kind(4, 6, 3).double()
    names, values = zip(*layer.named_parameters(), strict=True)
    given = [part.requires_grad_() for part in drawn(1, 2, 3)]

    def attended(queries, keys, *parameters):
        found = torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (queries, keys))
        return found.context, found.weights

    assert torch.autograd.gradcheck(attended, (*given, *values), fast_mode=True)


def perceptrons(iterations, scale, **options):
    torch.manual_seed(1)
    layer = MeanFieldAttention.of_perceptrons(4, 6, 8, iterations, **options).double()
    with torch.no_grad():
        layer.binary.output.weight.mul_(scale)
    return layer


@pytest.mark.parametrize("make", [mean_field, perceptrons])
@pytest.mark.parametrize("iterations", [0, 1, 5])
@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_the_weights_are_mean_field_of_the_crf(make, iterations, damping):
    layer, (queries, keys) = make(iterations, 10.0, damping=damping), drawn()
    lengths = torch.tensor([5, 3])
    crf, found = layer.crf(queries, keys, lengths), layer(queries, keys, lengths).weights
    if not iterations:
        inside = torch.arange(5) < lengths[:, None, None]
        torch.testing.assert_close(found, crf.scores[0].sigmoid() * inside)
        return
    expected = crf.mean_field(iterations, schedule="parallel", damping=damping).marginals
    torch.testing.assert_close(found, expected)


class Concatenated(torch.nn.Module):
    """A network of any depth over vectors that stand side by side."""

    def __init__(self, *sizes):
        super().__init__()
        layers = [torch.nn.Linear(sum(sizes), 5), torch.nn.ReLU(), torch.nn.Linear(5, 5), torch.nn.ReLU()]
        self.layers = torch.nn.Sequential(*layers, torch.nn.Linear(5, 1))

    def forward(self, *vectors):
        batch = torch.broadcast_shapes(*(vector.shape[:-1] for vector in vectors))
        return self.layers(torch.cat([each.expand(*batch, -1) for each in vectors], -1)).squeeze(-1)


def test_any_networks_give_the_scores():
    torch.manual_seed(1)
    networks = {"unary": Concatenated(6, 4), "binary": Concatenated(6, 6, 4)}
    layer, (queries, keys) = MeanFieldAttention(4, 6, 8, **networks).double(), drawn()
    assert {name.split(".")[0] for name, _ in layer.named_parameters()} == set(networks)
    unary, pairwise, *_ = layer.crf(queries, keys).scores
    h, d = keys[1], queries[1, 2]
    torch.testing.assert_close(unary[1, 2, 3], networks["unary"](h[3], d))
    orders = [networks["binary"](h[i], h[j], d) for i, j in ((0, 3), (3, 0))]
    torch.testing.assert_close(pairwise[1, 2, 0, 3], sum(orders) / 2)
    assert torch.equal(pairwise, pairwise.mT)
    assert not pairwise.diagonal(0, -2, -1).any()


def test_positions_begin_as_rivals():
    layer, (queries, keys) = MeanFieldAttention(4, 6, 8, rivalry=3.0).double(), drawn()
    found = layer.crf(queries, keys).scores[1]
    features = (layer.query(queries).unsqueeze(2) + layer.key(keys).unsqueeze(1)).tanh()
    expected = -3 * (features.unsqueeze(2) * features.unsqueeze(3)).mean(-1)
    torch.testing.assert_close(found, expected * (1 - torch.eye(5)))
    alone = MeanFieldAttention(4, 6, 8, rivalry=0.0).double().sweeps(queries, keys)
    torch.testing.assert_close(alone, alone[:1].expand_as(alone))


def test_the_weights_after_each_sweep():
    given, lengths = drawn(), torch.tensor([5, 3])
    found = mean_field(4, 10.0, damping=0.2).sweeps(*given, lengths)
    for sweeps, marginals in enumerate(found):
        layer = mean_field(sweeps, 10.0, damping=0.2)
        torch.testing.assert_close(marginals, layer(*given, lengths).weights)
    assert len(mean_field(1000, tol=1e-9).sweeps(*given)) < 100


def test_options_that_cannot_be():
    with pytest.raises(ValueError, match="iterations is -1; expected at least 0"):
        MeanFieldAttention(2, 2, 2, iterations=-1)
    with pytest.raises(ValueError, match=r"damping is 1\.0; expected a number from 0 to below 1"):
        MeanFieldAttention(2, 2, 2, damping=1.0)
    with pytest.raises(ValueError, match="tol is nan; expected at least 0"):
        MeanFieldAttention(2, 2, 2, tol=torch.nan)
