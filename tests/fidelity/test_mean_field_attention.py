"""Mean-field attention against algorithms 1 and 2 of Liu Ziyin et al., written from the equations with loops."""

from __future__ import annotations

import pytest
import torch
from tests.fidelity.recurrences import lstm_step, read

from strukt.nn import LSTM, MeanFieldAttention
from strukt.nn.encoder_decoder import EncoderDecoder
from strukt.nn.recurrent import RecurrentLanguageModel

SIZE, INPUTS, N, STEPS = 3, 2, 4, 3


def mean_field(phi, pairwise, sweeps, tol=0.0):
    """Algorithm 1 from line 5 on, with at most k sweeps: J = pairwise, a list of lists."""
    chi = list(phi)
    for _ in range(sweeps):
        s = [torch.sigmoid(x) for x in chi]
        chi = [sum(pairwise[i][j] * s[j] for j in range(len(s))) + phi[i] for i in range(len(s))]
        if all(abs(torch.sigmoid(new) - old) <= tol for new, old in zip(chi, s, strict=True)):
            break
    return [torch.sigmoid(x) for x in chi]


def low_rank(layer, h, d):
    """phi and J of keys h, one query d and the low-rank form of the potentials."""
    net = layer.unary
    phi = [
        net.output.weight[0] @ torch.tanh(net.query.weight @ d + net.query.bias + net.key.weight @ key)
        for key in h
    ]
    k = [torch.tanh(layer.query.weight @ d + layer.query.bias + layer.key.weight @ key) for key in h]
    w = layer.interaction
    pairwise = [[(w * k[i] * k[j]).sum() * (i != j) for j in range(len(h))] for i in range(len(h))]
    return phi, pairwise


def perceptron(network, *vectors):
    """One hidden layer over a concatenation."""
    matrix = torch.cat([layer.weight for layer in network.inputs], 1)
    hidden = torch.tanh(matrix @ torch.cat(vectors) + network.inputs[0].bias)
    return (network.output.weight @ hidden + network.output.bias)[0]


def perceptrons(layer, h, d):
    """phi = D_unary(h_i, d) and J = D_binary(h_i, h_j, d) of an undirected graph without loops (A.2)."""
    phi = [perceptron(layer.unary, key, d) for key in h]
    ordered = [[perceptron(layer.binary, first, second, d) for second in h] for first in h]
    n = range(len(h))
    return phi, [[(ordered[i][j] + ordered[j][i]) / 2 * (i != j) for j in n] for i in n]


def attention_of(form, sweeps, tol=None):
    """Mean-field attention with interactions that matter, and the function that has its potentials."""
    torch.manual_seed(sweeps)
    if form is low_rank:
        return MeanFieldAttention(SIZE, SIZE, 5, sweeps, tol=tol, rivalry=9.0).double()
    layer = MeanFieldAttention.of_perceptrons(SIZE, SIZE, 5, sweeps, tol=tol).double()
    with torch.no_grad():
        layer.binary.output.weight.mul_(4)
    return layer


def encoder_decoder(network, potentials, x, inputs, sweeps):
    """Algorithm 2: states d_t and weights a^(t) of one sequence x, whose decoder reads inputs and contexts."""
    h = read(network.encoder.layers[0].forwards, x)
    d, cell = torch.zeros(SIZE, dtype=x.dtype), torch.zeros(SIZE, dtype=x.dtype)
    states, weights = [], []
    for t in range(len(inputs)):
        a = mean_field(*potentials(network.attention, h, d), sweeps)
        context = sum(a[i] * h[i] for i in range(len(h)))
        d, cell = lstm_step(network.decoder, torch.cat([inputs[t], context]), d, cell)
        states.append(d)
        weights.append(torch.stack(a))
    return torch.stack(states), torch.stack(weights)


@pytest.mark.parametrize("form", [low_rank, perceptrons])
@pytest.mark.parametrize(("sweeps", "tol"), [(0, None), (1, None), (5, None), (50, 1e-3)])
def test_weights_are_those_of_algorithm_1(form, sweeps, tol):
    attention = attention_of(form, sweeps, tol)
    keys, queries = torch.randn(2, N, SIZE).double(), torch.randn(2, STEPS, SIZE).double()
    lengths = torch.tensor([N, N - 1])
    found = attention(queries, keys, lengths)
    for row, length in enumerate(lengths):
        h = keys[row, :length]
        for t, d in enumerate(queries[row]):
            expected = torch.stack(mean_field(*form(attention, h, d), sweeps, tol or 0.0))
            torch.testing.assert_close(found.weights[row, t, :length], expected)
            torch.testing.assert_close(found.context[row, t], expected @ h)


@pytest.mark.parametrize("form", [low_rank, perceptrons])
@pytest.mark.parametrize("sweeps", [0, 1, 5])
def test_contexts_are_fed_back_as_in_algorithm_2(form, sweeps):
    attention = attention_of(form, sweeps)
    network = EncoderDecoder(LSTM(INPUTS, SIZE), INPUTS, SIZE, attention, True, False).double()
    x, inputs = torch.randn(2, N, INPUTS).double(), torch.randn(2, STEPS, INPUTS).double()
    lengths = torch.tensor([N, N - 1])
    found = network(x, lengths, inputs)
    for row, length in enumerate(lengths):
        states, weights = encoder_decoder(network, form, x[row, :length], inputs[row], sweeps)
        torch.testing.assert_close(found.outputs[row], states)
        torch.testing.assert_close(found.weights[row, :, :length], weights)


@pytest.mark.parametrize("form", [low_rank, perceptrons])
def test_a_language_model_decodes_as_in_algorithm_2(form):
    """The input at word t is all words up to it, as far as the window goes; d_t predicts the next word."""
    attention, window = attention_of(form, 5), 3
    model = RecurrentLanguageModel(4, SIZE, 1, 0.0, attention, window, input_feeding=True).double()
    words = torch.tensor([3, 0, 1, 2, 0])
    found, _ = model(words[None], torch.tensor([5]))
    vectors = model.vectors.weight
    x = vectors[torch.tensor([4, 3, 0, 1, 2])]  # the first is that of the beginning
    h, d = read(model.layers[0], x), torch.zeros(SIZE, dtype=torch.float64)
    cell = d
    for t, word in enumerate(words):
        seen = h[max(t + 1 - window, 0) : t + 1]
        a = mean_field(*form(attention, seen, d), 5)
        context = sum(a[i] * seen[i] for i in range(len(seen)))
        d, cell = lstm_step(model.decoder, torch.cat([x[t], context]), d, cell)
        scores = vectors[:4] @ d + model.bias
        torch.testing.assert_close(found[0, t], scores[word] - scores.exp().sum().log())
