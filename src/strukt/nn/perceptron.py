"""The layer in front of a biaffine score."""

from __future__ import annotations

from torch import nn

from strukt.nn.dropout import SharedDropout


def perceptron(inputs: int, size: int, dropout: float = 0.0) -> nn.Sequential:
    """One layer that keeps of a vector what a score needs: linear (orthogonal at the start), leaky ReLU, dropout.

    Source: Dozat and Manning (2017), "Deep biaffine attention for neural dependency parsing".

    Args:
        inputs: Size of the vectors that come in.
        size: Size of those that come out.
        dropout: Probability that a feature of a sentence is dropped.
    """
    linear = nn.Linear(inputs, size)
    nn.init.orthogonal_(linear.weight)
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.LeakyReLU(0.1), SharedDropout(dropout))
