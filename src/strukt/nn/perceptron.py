"""The perceptron below a biaffine layer."""

from __future__ import annotations

from torch import nn

from strukt.nn.dropout import SharedDropout


def perceptron(inputs: int, size: int, dropout: float = 0.0) -> nn.Sequential:
    """Return a one-layer perceptron: linear (initially orthogonal), leaky ReLU, dropout.

    Source: Dozat and Manning (2017), "Deep biaffine attention for neural dependency parsing".

    Args:
        inputs: Size of the input vectors.
        size: Size of the output vectors.
        dropout: Probability that a feature is dropped for a whole sentence.

    Raises:
        ValueError: If `dropout` is not a probability below 1.
    """
    linear = nn.Linear(inputs, size)
    nn.init.orthogonal_(linear.weight)
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.LeakyReLU(0.1), SharedDropout(dropout))
