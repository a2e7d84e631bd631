"""The models that Liu Ziyin et al. compare mean-field attention with, written from their equations with loops."""

from __future__ import annotations

import math

import pytest
import torch
from tests.fidelity.recurrences import lstm_step, read, rnn_step

from strukt.nn import LSTM, RNN, AdditiveAttention, VariationalAttention
from strukt.nn.encoder_decoder import EncoderDecoder
from strukt.nn.recurrent import RecurrentLanguageModel

SIZE, INPUTS, N, STEPS = 3, 2, 4, 3


def drawn(*shape):
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize(("encoder", "decoder"), [(RNN, "rnn"), (LSTM, "lstm")])
def test_without_attention_the_decoder_gets_the_last_hidden_state(encoder, decoder):
    """Appendix D."""
    torch.manual_seed(1)
    network = EncoderDecoder(encoder(INPUTS, SIZE), INPUTS, SIZE, decoder=decoder, start="last").double()
    x, inputs, lengths = drawn(2, N, INPUTS), drawn(2, STEPS, INPUTS), torch.tensor([N, N - 2])
    found = network(x, lengths, inputs)
    for row, length in enumerate(lengths):
        d = read(network.encoder.layers[0].forwards, x[row, :length])[-1]
        cell = torch.zeros_like(d)
        for t, vector in enumerate(inputs[row]):
            if decoder == "lstm":
                d, cell = lstm_step(network.decoder, vector, d, cell)
            else:
                d = rnn_step(network.decoder, vector, d)
            torch.testing.assert_close(found.outputs[row, t], d)


def additive(scores, h, d):
    """Bahdanau et al.: a softmax over v tanh(W d + U h_i), and the mean of h under it."""
    energies = [
        scores.output.weight[0]
        @ torch.tanh(scores.query.weight @ d + scores.query.bias + scores.key.weight @ key)
        for key in h
    ]
    total = sum(energy.exp() for energy in energies)
    return sum(energy.exp() / total * key for energy, key in zip(energies, h, strict=True))


def test_additive_attention_is_a_softmax_of_a_network():
    torch.manual_seed(1)
    attention, h, d = AdditiveAttention(SIZE, SIZE, 5).double(), drawn(N, SIZE), drawn(SIZE)
    torch.testing.assert_close(
        attention(d[None, None], h[None]).context[0, 0], additive(attention.scores, h, d)
    )


@pytest.mark.parametrize("prior", ["mean", "standard"])
def test_contexts_of_variational_attention_are_normal_around_the_deterministic_one(prior):
    """Bahuleyan et al., sections 3.2 and 3.3: posterior N(c, sigma^2), prior N(mean of h, 1) or N(0, 1)."""
    torch.manual_seed(1)
    attention, h, d = VariationalAttention(SIZE, SIZE, 5, prior).double(), drawn(N, SIZE), drawn(SIZE)
    c = additive(attention.scores, h, d)
    first, _, second = attention.log_deviation
    sigma = torch.exp(second.weight @ torch.tanh(first.weight @ c + first.bias) + second.bias)
    center = sum(h) / N if prior == "mean" else torch.zeros(SIZE, dtype=torch.float64)
    divergence = sum((sigma[j] ** 2 + (c[j] - center[j]) ** 2 - 1) / 2 - sigma[j].log() for j in range(SIZE))
    query, lengths = d.expand(4000, 1, SIZE), torch.full((4000,), N)
    keys = torch.cat([h, torch.full_like(h, math.nan)]).expand(4000, -1, -1)
    predicted = attention.eval()(query, keys, lengths)
    torch.testing.assert_close(predicted.divergence, divergence.expand(4000, 1))
    torch.testing.assert_close(predicted.context[:, 0], c.expand(4000, SIZE))
    torch.manual_seed(2)
    draws = attention.train()(query, keys, lengths).context[:, 0]
    torch.testing.assert_close(draws.mean(0), c, atol=0.1, rtol=0)
    torch.testing.assert_close(draws.std(0), sigma, atol=0.1, rtol=0)


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_language_models_predict_by_the_state_behind_the_words_before(cell):
    torch.manual_seed(1)
    model = RecurrentLanguageModel(5, SIZE, cell=cell).double()
    words = torch.tensor([3, 1, 4, 1])
    found, _ = model(words[None], torch.tensor([4]))
    vectors = model.vectors.weight
    states = read(model.layers[0], vectors[torch.tensor([5, 3, 1, 4])])  # the first is that of the beginning
    for t, state in enumerate(states):
        scores = [vectors[word] @ state + model.bias[word] for word in range(5)]
        total = sum(score.exp() for score in scores)
        torch.testing.assert_close(found[0, t], (scores[words[t]].exp() / total).log())
