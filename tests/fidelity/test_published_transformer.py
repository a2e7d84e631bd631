"""The Transformer that Wu and Tu (2023) compare with: their equations, dropout, and how it starts."""

from itertools import repeat

import pytest
import torch
from tests.fidelity.dense_transformer import encode
from tests.fidelity.masks import Masks

from strukt.nn import PublishedTransformer

POSITIONS = {
    "learned": {"positions": "absolute"},
    "distances of keys": {"positions": "relative", "reach": 2, "distance_values": False},
    "distances of keys and values": {"positions": "relative", "reach": 2},
}


def transformer(name, dropout=0.0):
    torch.manual_seed(0)
    sizes = {"feed_forward": 7, "head_size": 3}
    return PublishedTransformer(6, 2, 4, dropout, **sizes, **POSITIONS[name]).double()


@pytest.mark.parametrize("name", POSITIONS)
def test_the_published_transformer_is_its_equations(name):
    """Distances in both directions, longer than the reach; sentences of three lengths, one of them a word."""
    encoder = transformer(name).eval()
    x, lengths = torch.randn(3, 6, 6, dtype=torch.float64), [6, 4, 1]
    found = encoder(x, lengths)
    for sentence, n in enumerate(lengths):
        expected = encode(encoder.state_dict(), x[sentence, :n], 2, repeat(1.0))
        torch.testing.assert_close(found[sentence, :n], expected)
        assert found[sentence, n:].abs().sum() == 0


def test_words_beyond_the_last_position_share_it():
    places = transformer("learned").eval().places
    found = places(torch.zeros(1, 515, 6, dtype=torch.float64))[0]
    torch.testing.assert_close(found[:512], places.table.data)
    torch.testing.assert_close(found[512:], places.table.data[511:].expand(3, -1))


@pytest.mark.parametrize("name", POSITIONS)
def test_dropout_acts_on_words_positions_and_what_layers_put_out(name):
    encoder, masks = transformer(name), Masks()
    if name == "learned":
        assert encoder.places.dropout.p == 0.1
        encoder.places.dropout = masks
    for layer in encoder.layers:
        layer.dropout = masks
    x = torch.randn(1, 5, 6, dtype=torch.float64)
    found = encoder(x)
    drawn = [mask.reshape(5, 6) for mask in masks.drawn]
    assert len(drawn) == 2 * 2 + 2 * (name == "learned")
    torch.testing.assert_close(found[0], encode(encoder.state_dict(), x[0], 2, iter(drawn)))


@pytest.mark.parametrize("name", POSITIONS)
def test_dropout_acts_on_the_weights_of_attention(name):
    """Where each word tells that it is itself, and nothing else, attention puts out its weights."""
    torch.manual_seed(0)
    attention = PublishedTransformer(20, 1, 1, 0.5, **POSITIONS[name]).layers[0].attention
    with torch.no_grad():
        attention.values.copy_(torch.eye(20))
        attention.output.copy_(torch.eye(20))
        if attention.distance_values is not None:
            attention.distance_values.zero_()
        words, seen = torch.eye(20)[None], torch.ones(1, 1, 20, dtype=torch.bool)
        dropped = attention.train()(words, seen)
        weights = attention.eval()(words, seen)
    kept = dropped != 0
    assert 0.4 < kept.double().mean() < 0.6
    torch.testing.assert_close(dropped[kept], 2 * weights[kept])


@pytest.mark.parametrize("name", POSITIONS)
def test_dropout_of_the_published_transformer_acts_nowhere_else(name):
    encoder = transformer(name, dropout=0.5)
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for layer in encoder.layers:
        layer.attention.rate = 0.0
    assert torch.equal(encoder.train()(x), encoder.eval()(x))


def test_deviations_of_a_new_published_transformer():
    """Positions and distances are standard normal; matrices of heads normal by PyTorch's fans of three axes."""
    torch.manual_seed(0)
    attention = PublishedTransformer(64, 1, 8, head_size=32, positions="relative", reach=200).layers[0].attention
    expected = {
        "queries": (2 / (64 * 32 + 8 * 32)) ** 0.5,
        "keys": (2 / (64 * 32 + 8 * 32)) ** 0.5,
        "values": (2 / (64 * 32 + 8 * 32)) ** 0.5,
        "output": (2 / (32 * 64 + 8 * 64)) ** 0.5,
        "distances": 1.0,
        "distance_values": 1.0,
    }
    found = {name: weight.std().item() for name, weight in attention.named_parameters()}
    assert found == pytest.approx(expected, rel=0.03)
    assert PublishedTransformer(64).places.table.std().item() == pytest.approx(1.0, rel=0.03)
