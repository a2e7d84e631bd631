"""Steps of recurrent networks, written from their equations over the weights of PyTorch's layers."""

import torch


def lstm_step(lstm, x, h, c):
    """Hochreiter and Schmidhuber's cell with a forget gate; the gates stand in the order of PyTorch."""
    gates = lstm.weight_ih_l0 @ x + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ h + lstm.bias_hh_l0
    i, f, g, o = gates.view(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def rnn_step(rnn, x, h):
    """Elman's network."""
    return torch.tanh(rnn.weight_ih_l0 @ x + rnn.bias_ih_l0 + rnn.weight_hh_l0 @ h + rnn.bias_hh_l0)


def read(network, x):
    """The states behind each of some vectors, of an LSTM or a plain network that begins with zeros."""
    h = c = x.new_zeros(network.hidden_size)
    states = []
    for vector in x:
        if isinstance(network, torch.nn.LSTM):
            h, c = lstm_step(network, vector, h, c)
        else:
            h = rnn_step(network, vector, h)
        states.append(h)
    return states
