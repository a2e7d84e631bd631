"""Classes of pairs of sentences, from the vectors of their trees."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strukt.nn import Mixture


class TreeComparison(nn.Module):
    """A comparison of two sentences by the vectors u and v of their trees.

        p(class | two sentences) = sum over their trees g and h of  p(g) p(h) p(class | u_g, v_h)
        p(class | u, v) = softmax(W relu(V [u, v, |u - v|, u v] + b) + w)

    The trees of the two sentences are independent, and V, b, W and w are learned. If trees are sampled, only the
    i-th samples of both sentences are compared, for each i.

    Source: Niculae, Martins and Cardie (2018), "Towards dynamic computation graphs via sparse latent structure",
    section 3. Tai, Socher and Manning (2015) have only the features |u - v| and u v, without u and v.

    Args:
        inputs: Size of the vectors of trees.
        size: Size of the hidden layer.
        classes: Number of classes.
        dropout: Dropout before each layer.
    """

    def __init__(self, inputs: int, size: int, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(4 * inputs, size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(size, classes),
        )

    def forward(self, trees: Mixture) -> Tensor:
        """Return log-probabilities of classes, ``(batch, classes)``, or lower bounds if trees are sampled.

        Args:
            trees: The vectors of trees, ``(rows, inputs)``, a row for each tree of ``2 batch`` sentences: first
                the trees of the first sentences of all pairs, then those of the second sentences.
        """
        couples = _couples(trees)
        u, v = couples.outputs
        scores = self.network(torch.cat([u, v, (u - v).abs(), u * v], -1))
        return couples.log_likelihood(scores.float().log_softmax(-1))


def _couples(trees: Mixture) -> Mixture:
    """Pair each tree of a first sentence with each tree of the second; if sampled, only the i-th with the i-th."""
    a, b = trees.counts.chunk(2)
    starts_a, starts_b = (trees.counts.cumsum(0) - trees.counts).chunk(2)
    sizes = a if trees.sampled else a * b
    items = torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)
    number = torch.arange(len(items), device=sizes.device) - (sizes.cumsum(0) - sizes)[items]
    first = starts_a[items] + (number if trees.sampled else number // b[items])
    second = starts_b[items] + (number if trees.sampled else number % b[items])
    weights = trees.weights[first] * trees.weights[second]
    if trees.sampled:
        weights = weights * a[items]
    outputs = trees.outputs[first], trees.outputs[second]
    parts = torch.stack([trees.parts[first], trees.parts[second]], 1)
    return Mixture(outputs, weights, items, parts, trees.structures, len(sizes), trees.sampled)
