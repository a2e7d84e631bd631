"""Graph convolutional networks (GCN) along the arcs of dependency trees, hard or soft."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from strukt.checks import arguments
from strukt.checks.guards import within
from strukt.checks.lengths import Lengths
from strukt.nn.dropout import SharedDropout
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import lengths_of, require_sizes


class TreeGCN(nn.Module):
    """A graph convolutional network (GCN) over dependency trees, hard or soft.

    Every word reads the vectors of its head and its dependents, weighted by the values of the arcs:

        x'_m = relu(W_self x_m + W_up sum_h A[m, h] x_h + W_down sum_k A[k, m] x_k + b)

    A[m, h] is the value of the arc from node h to node m; node 0 is the root. The root is a node like the words,
    but without a head; its vector before the first layer is learned. Arcs need not form a tree: their values may
    be marginals, and gradients flow to all of them.

    Source: Marcheggiani and Titov (2017), "Encoding sentences with graph convolutional networks for semantic role
    labeling", with one matrix for each direction, without labels of arcs and without gates; for values of arcs,
    Corro and Titov (2019), "Learning latent trees with stochastic perturbations and differentiable dynamic
    programming".

    Args:
        size: Size of the input vectors.
        hidden: Size of the output vectors.
        layers: Number of layers; a word reads the nodes at most this many arcs away.
        dropout: Probability that a feature is dropped for a whole sentence, before each layer but the first.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> from strukt.distributions import NonProjectiveTree
        >>> lengths = torch.tensor([5, 3])
        >>> trees = NonProjectiveTree(torch.randn(2, 5, 6), lengths)
        >>> TreeGCN(8, 16, layers=2)(torch.randn(2, 5, 8), trees.marginals, lengths).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, size: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        require_sizes(size=size, hidden=hidden, layers=layers)
        self.root = nn.Parameter(torch.zeros(size))
        self.dropout = SharedDropout(dropout)
        self.hidden = hidden
        sizes = [size] + [hidden] * (layers - 1)
        self.layers = nn.ModuleList(_Projections(3 * inputs, hidden) for inputs in sizes)

    def forward(self, vectors: Tensor, arcs: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Encode a batch of sentences, in time O(n (size + n) hidden) for each item and layer.

        Args:
            vectors: `(batch, n, size)`; padding is ignored.
            arcs: `(batch, n, n + 1)`, the value of head h for word m + 1 at `[m, h]`; h = 0 is the root.
            lengths: `(batch,)`; all n if None.

        Returns:
            `(batch, n, hidden)`, zero in the padding.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        return self.read(self.project(vectors, lengths), arcs, lengths)

    def project(self, vectors: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Compute the part of the first layer that does not depend on the arcs, once for all trees of a sentence.

        Args:
            vectors: `(batch, n, size)`; padding is ignored.
            lengths: `(batch,)`; all n if None.

        Returns:
            W_self x, W_up x and W_down x of the root and the words: `(batch, n + 1, 3 hidden)`.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        projected: Tensor = self.layers[0](nodes_of(self.root, vectors, lengths))
        return projected

    def read(self, projected: Tensor, arcs: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the result of `forward`, given the result of `project`.

        Args:
            projected: `(batch, n + 1, 3 hidden)`.
            arcs: `(batch, n, n + 1)`; see `forward`.
            lengths: `(batch,)`; all n if None.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        arcs, lengths = arcs_within(projected, arcs, lengths, 3 * self.hidden)
        heads = functional.pad(arcs, (0, 0, 1, 0))
        itself = torch.diag_embed(mask_of(lengths + 1, heads.shape[1]).to(heads.dtype))
        weights = torch.stack([itself, heads, heads.mT], -1).flatten(2)
        nodes = _aggregated(weights, projected)
        for layer in self.layers[1:]:
            nodes = _aggregated(weights, layer(self.dropout(nodes)))
        return nodes[:, 1:]


class _Projections(nn.Linear):
    """The matrices W_self, W_up and W_down in one weight, side by side; each is applied to the same nodes."""

    @override
    def forward(self, nodes: Tensor) -> Tensor:
        bias = functional.pad(self.bias, (0, 2 * self.out_features))
        return functional.linear(nodes, torch.cat(self.weight.chunk(3, 1)), bias)


def _aggregated(weights: Tensor, projected: Tensor) -> Tensor:
    """Return, for each node, the ReLU of the weighted sum of the three projections of all nodes."""
    batch, nodes, size = projected.shape
    return (weights @ projected.reshape(batch, 3 * nodes, size // 3)).relu()


def nodes_of(root: Tensor, vectors: Tensor, lengths: Lengths | None) -> Tensor:
    """Return the vectors `(batch, n + 1, size)` of the nodes of each tree: the root, then the words, then zeros.

    Raises:
        ValueError: If a shape is wrong, or a length is not between 0 and n.
    """
    lengths = lengths_of("vectors", vectors, len(root), lengths)
    batch, n, _ = vectors.shape
    words = vectors.masked_fill(~mask_of(lengths, n).unsqueeze(-1), 0)
    return torch.cat([root.expand(batch, 1, -1), words], 1)


def arcs_within(projected: Tensor, arcs: Tensor, lengths: Lengths | None, size: int) -> tuple[Tensor, Tensor]:
    """Return the arcs in the dtype of the projections, with 0 for words and heads in the padding, and the lengths.

    Projections are `(batch, n + 1, size)`, arcs `(batch, n, n + 1)`, and the returned lengths `(batch,)`.

    Raises:
        ValueError: If a shape is wrong, or a length is not between 0 and n.
    """
    if projected.dim() != 3 or projected.shape[2] != size or projected.shape[1] == 0:
        raise ValueError(
            f"projected has shape {tuple(projected.shape)}; expected (batch, n + 1, {size}), the result of project"
        )
    batch, nodes, _ = projected.shape
    expected = torch.Size([batch, nodes - 1, nodes])
    if arcs.shape != expected:
        raise ValueError(
            f"arcs has shape {tuple(arcs.shape)}; expected (batch, n, n + 1), here {tuple(expected)}: a row for "
            "each word, and in it the value of the root as head (column 0), then of each word"
        )
    lengths = arguments.lengths(lengths, projected.shape[:1], nodes - 1, projected.device)
    return arcs.to(projected.dtype).masked_fill(~within(lengths, arcs.shape[1:], [0, 1]), 0), lengths
