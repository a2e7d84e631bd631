"""Mean-field attention against algorithms 1 and 2 of Liu Ziyin et al., written from the equations with loops."""

from __future__ import annotations

import pytest
import torch

from strukt.nn import LSTM, MeanFieldAttention
from strukt.nn.encoder_decoder import EncoderDecoder

SIZE, INPUTS, N, STEPS = 3, 2, 4, 3


def mean_field(phi, pairwise, sweeps):
    """Algorithm 1 from line 5 on, with k sweeps: chi is a list of numbers, J = pairwise a list of lists."""
    chi = list(phi)
    for _ in range(sweeps):
        s = [torch.sigmoid(x) for x in chi]
        chi = [sum(pairwise[i][j] * s[j] for j in range(len(s))) + phi[i] for i in range(len(s))]
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


def lstm_step(lstm, x, h, c):
    """Hochreiter and Schmidhuber's cell with a forget gate; the gates stand in the order of PyTorch."""
    gates = lstm.weight_ih_l0 @ x + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ h + lstm.bias_hh_l0
    i, f, g, o = gates.view(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def encoder_decoder(network, potentials, x, inputs, sweeps):
    """Algorithm 2: states d_t and weights a^(t) of one sequence x, whose decoder reads inputs and contexts."""
    state = torch.zeros(SIZE, dtype=x.dtype), torch.zeros(SIZE, dtype=x.dtype)
    h = []
    for word in x:
        state = lstm_step(network.encoder.layers[0].forwards, word, *state)
        h.append(state[0])
    d, cell = torch.zeros(SIZE, dtype=x.dtype), torch.zeros(SIZE, dtype=x.dtype)
    states, weights = [], []
    for t in range(len(inputs)):
        a = mean_field(*potentials(network.attention, h, d), sweeps)
        context = sum(a[i] * h[i] for i in range(len(h)))
        d, cell = lstm_step(network.decoder, torch.cat([inputs[t], context]), d, cell)
        states.append(d)
        weights.append(torch.stack(a))
    return torch.stack(states), torch.stack(weights)


@pytest.mark.parametrize("sweeps", [0, 1, 5])
def test_contexts_are_fed_back_as_in_algorithm_2(sweeps):
    torch.manual_seed(sweeps)
    attention = MeanFieldAttention(SIZE, SIZE, 5, iterations=sweeps, rivalry=9.0)
    network = EncoderDecoder(LSTM(INPUTS, SIZE), INPUTS, SIZE, attention, True, False).double()
    x, inputs = torch.randn(2, N, INPUTS).double(), torch.randn(2, STEPS, INPUTS).double()
    lengths = torch.tensor([N, N - 1])
    found = network(x, lengths, inputs)
    for row, length in enumerate(lengths):
        states, weights = encoder_decoder(network, low_rank, x[row, :length], inputs[row], sweeps)
        torch.testing.assert_close(found.outputs[row], states)
        torch.testing.assert_close(found.weights[row, :, :length], weights)
