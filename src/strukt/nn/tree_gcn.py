"""Graph convolutions along the arcs of dependency trees, hard or soft."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.kernels import arguments
from strukt.kernels.guards import within
from strukt.nn.dropout import SharedDropout
from strukt.nn.encoders import mask_of


class TreeGCN(nn.Module):
    """Layers in which every word hears its head and its dependents, each as loud as the value of the arc.

        h'_m = relu(W_self h_m + W_up sum_h A[m, h] h_h + W_down sum_k A[k, m] h_k + b)

    The root is a node like the words, without a head; its vector in front of the first layer is learned. Arcs need
    not be those of a tree: their values may be marginals, and gradients flow to all of them.

    Source: Marcheggiani and Titov (2017), "Encoding sentences with graph convolutional networks for semantic role
    labeling", with one matrix for each direction, without labels of arcs and without gates; for values of arcs
    Corro and Titov (2019), "Learning latent trees with stochastic perturbations and differentiable dynamic
    programming".

    Args:
        size: Of the vectors that come in.
        hidden: Of those that come out.
        layers: Number of layers, and of steps along arcs that a word hears from.
        dropout: Probability that a feature of a sentence is dropped, before each layer but the first.

    Raises:
        ValueError: If there are no layers, or `dropout` is no probability below 1.

    Examples:
        >>> from strukt.distributions import NonProjectiveTree
        >>> lengths = torch.tensor([5, 3])
        >>> trees = NonProjectiveTree(torch.randn(2, 5, 6), lengths)
        >>> TreeGCN(8, 16, layers=2)(torch.randn(2, 5, 8), trees.marginals, lengths).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, size: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"layers is {layers}; expected at least 1")
        self.root = nn.Parameter(torch.zeros(size))
        self.dropout = SharedDropout(dropout)
        # The weights of a layer are W_self, W_up and W_down side by side.
        sizes = [size] + [hidden] * (layers - 1)
        self.layers = nn.ModuleList(nn.Linear(3 * inputs, hidden) for inputs in sizes)

    def forward(self, vectors: Tensor, arcs: Tensor, lengths: Tensor) -> Tensor:
        """Reads the sentences; time O(n^2 size) an item and layer.

        Args:
            vectors: `(batch, n, size)`; the padding is ignored.
            arcs: `(batch, n, n + 1)`, the value of head h for word m + 1 at `[m, h]`; h = 0 is the root.
            lengths: `(batch,)`.

        Returns:
            `(batch, n, hidden)`, zero in the padding.

        Raises:
            ValueError: If shapes do not fit.
        """
        arcs = arcs_within(vectors, arcs, lengths, len(self.root))
        outside = ~mask_of(lengths, vectors.shape[1]).unsqueeze(-1)
        nodes = with_root(self.root, vectors.masked_fill(outside, 0))
        heads = functional.pad(arcs, (0, 0, 1, 0))
        for index, layer in enumerate(self.layers):
            nodes = self.dropout(nodes) if index else nodes
            nodes = layer(torch.cat([nodes, heads @ nodes, heads.mT @ nodes], -1)).relu()
        return nodes[:, 1:].masked_fill(outside, 0)


def arcs_within(vectors: Tensor, arcs: Tensor, lengths: Tensor, size: int) -> Tensor:
    """Arcs in the type of the vectors, with 0 for those of words and heads beyond the lengths.

    Raises:
        ValueError: If shapes do not fit, or a length is not between 0 and n.
    """
    arguments.scores("vectors", vectors, f"(batch, n, {size})", 3)
    if vectors.dim() != 3 or vectors.shape[2] != size:
        raise ValueError(f"vectors has shape {tuple(vectors.shape)}; expected (batch, n, {size})")
    batch, n, _ = vectors.shape
    expected = torch.Size([batch, n, n + 1])
    if arcs.shape != expected:
        raise ValueError(
            f"arcs has shape {tuple(arcs.shape)}; expected (batch, n, n + 1), here {tuple(expected)}: a row for "
            "each word, and in it the value of the root as head (column 0), then of each word"
        )
    lengths = arguments.lengths(lengths, vectors.shape[:1], n, vectors.device)
    return arcs.to(vectors.dtype).masked_fill(~within(lengths, arcs.shape[1:], [0, 1]), 0)


def with_root(root: Tensor, vectors: Tensor) -> Tensor:
    """The vectors `(batch, n + 1, size)` of the nodes of each tree: its root, then its words."""
    return torch.cat([root.expand(len(vectors), 1, -1), vectors], 1)
