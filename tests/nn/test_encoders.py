"""Encoders: padding and the other sentences of a batch change nothing."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from strukt.nn import LSTM, RNN, BiLSTM, GatedConvolution, MeanFieldEncoder, PublishedTransformer, Transformer
from strukt.nn.encoders import mask_of
from strukt.nn.transformer import sinusoids

ENCODERS = {
    "lstm": lambda: LSTM(6, 16, layers=2, dropout=0.3),
    "rnn": lambda: RNN(6, 16, layers=2, dropout=0.3),
    "bilstm": lambda: BiLSTM(6, 8, layers=2, dropout=0.3),
    "convolution": lambda: GatedConvolution(6, 16, layers=5, dropout=0.3),
    "pt": lambda: MeanFieldEncoder(6, 16, channels=4, iterations=2, rank=4, dropout=0.3),
    "transformer": lambda: Transformer(6, 16, layers=2, heads=4, dropout=0.3),
    "relative": lambda: Transformer(6, 16, layers=2, heads=3, dropout=0.3, positions="relative", head_size=5),
    "normalised behind": lambda: Transformer(6, 16, layers=2, heads=4, dropout=0.3, norm_first=False),
    "published": lambda: PublishedTransformer(6, layers=2, heads=2, dropout=0.3),
    "published relative": lambda: PublishedTransformer(6, 2, 3, 0.3, positions="relative", head_size=5),
}
ONE_WAY = {"lstm", "rnn"}


@pytest.fixture(params=sorted(ENCODERS))
def encoder(request):
    torch.manual_seed(0)
    return ENCODERS[request.param]().eval()


def test_vectors_that_are_scores_have_one_for_each_label():
    with pytest.raises(ValueError, match="inputs is 5; expected 6, a score for each label, if they are not"):
        MeanFieldEncoder(5, 6, projected=False)


def test_a_batch_gives_what_its_items_give(encoder):
    x, lengths = torch.randn(4, 7, 6), torch.tensor([7, 1, 4, 6])
    together = encoder(x, lengths)
    assert together.shape == (4, 7, encoder.size)
    for item, n in enumerate(lengths):
        alone = encoder(x[item : item + 1, :n], lengths[item : item + 1])
        torch.testing.assert_close(together[item, :n], alone[0], rtol=1e-4, atol=1e-5)
        assert not together[item, n:].any()


def test_nan_in_the_padding_changes_nothing_forwards_or_backwards(encoder):
    x, lengths = torch.randn(3, 5, 6), torch.tensor([5, 0, 2])
    outside = ~mask_of(lengths, 5).unsqueeze(-1)
    results = []
    for filler in (0.0, torch.nan):
        leaf = x.masked_fill(outside, filler).requires_grad_()
        encoded = encoder(leaf, lengths)
        gradients = torch.autograd.grad(encoded.square().sum(), [leaf, *encoder.parameters()])
        results.append([encoded, *gradients])
    for expected, found in zip(*results, strict=True):
        assert not found.isnan().any()
        torch.testing.assert_close(found, expected)


def test_empty_sentences_and_empty_batches(encoder):
    assert encoder(torch.randn(2, 3, 6), torch.tensor([0, 3]))[0].abs().max() == 0
    assert encoder(torch.zeros(0, 3, 6), torch.zeros(0, dtype=torch.long)).shape == (0, 3, encoder.size)
    assert encoder(torch.zeros(2, 0, 6), torch.zeros(2, dtype=torch.long)).shape == (2, 0, encoder.size)


def test_label_scores_have_the_dtype_of_the_weights_in_empty_batches_too():
    encoder, x = ENCODERS["pt"](), torch.randn(2, 3, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        for words in (x, x[:0], x[:, :0]):
            assert encoder(words).dtype == torch.float32


@pytest.mark.parametrize("name", sorted(ENCODERS))
def test_every_word_sees_every_other_or_those_before_it(name):
    x = torch.randn(1, 5, 6, requires_grad=True)
    one = ENCODERS[name]().eval()(x, torch.tensor([5]))[0, 2, 0]  # a sum would be constant behind a layer norm
    one.backward()
    assert (x.grad[0].abs().sum(-1) > 0).tolist() == [True] * 3 + [name not in ONE_WAY] * 2


def test_dropout_is_for_training_only(encoder):
    x, lengths = torch.randn(1, 5, 6), torch.tensor([5])
    torch.testing.assert_close(encoder(x, lengths), encoder(x, lengths))
    encoder.train()
    assert not torch.equal(encoder(x, lengths), encoder(x, lengths))


def test_the_order_of_words_matters(encoder):
    x, lengths = torch.randn(1, 4, 6), torch.tensor([4])
    assert not torch.allclose(encoder(x.flip(1), lengths).flip(1), encoder(x, lengths))


def test_heads_must_divide_the_size():
    with pytest.raises(ValueError, match="size is 16; expected a multiple of heads=3"):
        Transformer(6, 16, heads=3)
    with pytest.raises(ValueError, match="size is 16; expected a multiple of heads=3"):
        PublishedTransformer(16, heads=3)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_layer_is_that_of_pytorch(norm_first):
    mine = Transformer(16, 16, layers=1, heads=4, feed_forward=24, norm_first=norm_first).layers[0]
    other = nn.TransformerEncoderLayer(
        16, 4, 24, 0.0, "gelu", batch_first=True, norm_first=norm_first, bias=True
    )
    pairs = {
        other.self_attn.in_proj_weight: mine.attention.project.weight,
        other.self_attn.in_proj_bias: mine.attention.project.bias,
        other.self_attn.out_proj.weight: mine.attention.output.weight,
        other.linear1.weight: mine.feed_forward[0].weight,
        other.linear1.bias: mine.feed_forward[0].bias,
        other.linear2.weight: mine.feed_forward[3].weight,
        other.linear2.bias: mine.feed_forward[3].bias,
    }
    for copy, weight in pairs.items():
        copy.data.copy_(weight)
    x, seen = torch.randn(2, 5, 16), mask_of(torch.tensor([5, 3]), 5)
    torch.testing.assert_close(mine(x, seen.unsqueeze(1))[1, :3], other(x, src_key_padding_mask=~seen)[1, :3])


def test_weights_of_relative_attention_are_dropped_too():
    encoder = Transformer(4, 8, heads=2, dropout=0.5, positions="relative")
    x = torch.randn(1, 5, 4)
    encoder.dropout.p = encoder.layers[0].dropout.p = encoder.layers[0].feed_forward[2].p = 0.0
    assert not torch.equal(encoder.train()(x), encoder(x))


def test_positions_have_different_sinusoids():
    vectors = sinusoids(200, 16, torch.zeros(()))
    distances = torch.cdist(vectors, vectors) + 9 * torch.eye(200)
    assert distances.min() > 0.1
    assert sinusoids(3, 5, torch.zeros((), dtype=torch.float64)).shape == (3, 5)


def test_both_directions_are_those_of_packed_sequences():
    encoder = BiLSTM(6, 8, layers=1)
    packing = nn.LSTM(6, 8, batch_first=True, bidirectional=True)
    directions = [encoder.layers[0].forwards, encoder.layers[0].backwards]
    weights = [weight for direction in directions for weight in direction.parameters()]
    for mine, other in zip(weights, packing.parameters(), strict=True):
        other.data.copy_(mine.data)
    x, lengths = torch.randn(4, 7, 6), torch.tensor([7, 1, 4, 6])
    packed = packing(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[0]
    expected = pad_packed_sequence(packed, batch_first=True)[0]
    torch.testing.assert_close(encoder(x, lengths), expected)
    for mine, other in zip(
        torch.autograd.grad(encoder(x, lengths).square().sum(), weights),
        torch.autograd.grad(expected.square().sum(), list(packing.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(mine, other)


def test_bfloat16_around_an_lstm_leaves_its_numbers_alone():
    encoder = BiLSTM(6, 8, layers=2)
    x, lengths = torch.randn(4, 7, 6), torch.tensor([7, 1, 4, 6])
    with torch.autocast("cpu", torch.bfloat16):
        found = encoder(x, lengths)
        rounded = encoder(x.bfloat16(), lengths)
    torch.testing.assert_close(found, encoder(x, lengths))
    torch.testing.assert_close(rounded, found, atol=0.02, rtol=0)
    found.sum().backward()
    assert encoder.layers[0].forwards.weight_ih_l0.grad.dtype == torch.float32


def test_the_forget_gates_start_open():
    layer = BiLSTM(3, 4).layers[0].backwards
    assert layer.bias_ih_l0.tolist() == [0] * 4 + [1] * 4 + [0] * 8
    assert layer.bias_hh_l0.abs().max() == 0
