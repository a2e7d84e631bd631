"""Reference of undirected spanning trees, by the elimination of non-projective trees, in PyTorch.

Required edges are handled by orders, exact integers beside the weights: an edge that is not required has order
one, so the trees with the most required edges have the lowest order, and their sum is the result if they have all
required edges. The scores stay as they are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree.matrix_tree import NOWHERE, Elimination, eliminate, padded_weights
from strukt.structures.spanning_tree import arcs as on_arcs
from strukt.structures.spanning_tree import prim


class SpanningTrees:
    """The reference oracles; arguments are ``edges (batch, n, n)``, ``absent`` likewise, and ``lengths``.

    An edge is required where ``absent``, which consecutive items may share, is -inf.
    """

    def log_partition(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
        """Return the log-partition ``(batch,)``, summed in float64; differentiable any number of times; O(n^3)."""
        return SUMS.log_partition(*_rooted(edges, absent, lengths))

    def entropy(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        return self.cross_entropy((edges, absent), (edges, absent), lengths)

    def cross_entropy(self, scores: Scores, other: Scores, lengths: Tensor) -> Tensor:
        """Return the cross-entropy -E[log q] ``(batch,)`` in nats; q is the distribution of ``other``."""
        (edges, absent), (other_edges, other_absent) = scores, other
        mine, theirs = _rooted(edges, absent, lengths), _rooted(other_edges, other_absent, lengths)
        result = SUMS.expected_surprise(mine, theirs)
        return torch.where(_always_uses(mine, theirs[2]), result, torch.inf)

    def best(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, n, n)`` and its score ``(batch,)``; time O(n^2)."""
        events, scores = prim.kbest(edges, absent, lengths, 1)
        return events[:, 0], scores[:, 0]

    def kbest(self, edges: Tensor, absent: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, n, n)`` and their scores ``(batch, k)``; time O(k n^3 + k^2)."""
        return prim.kbest(edges, absent, lengths, k)

    def sample(self, edges: Tensor, absent: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Return samples ``(batch, count, n, n)`` and the log-partition ``(batch,)``; time O(n^4) per sample."""
        heads, log_partition = SUMS.sample(*_rooted(edges, absent, lengths), count)
        scores = log_partition.unsqueeze(-1).expand(-1, count)
        return on_arcs.events(heads, scores, lengths, edges.shape[-1]), log_partition


def _rooted(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the scores of arcs, the numbers of words, and the required arcs, 1 or 0: the arguments of `_load`."""
    required = on_arcs.required_edges(edges, absent, lengths)
    return on_arcs.to_arcs(edges), on_arcs.word_counts(lengths), on_arcs.to_arcs(required.long())


def _load(arcs: Tensor, lengths: Tensor, required: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-weights, orders and the order of trees, as `matrix_tree.Load` does.

    Here an order counts the edges that are not required: such an edge has order 1, required ones and padding 0.
    """
    weights = padded_weights(arcs, lengths)
    within = torch.arange(arcs.shape[1], device=arcs.device) < lengths.unsqueeze(-1)
    orders = within.unsqueeze(-1) * (1 - required)
    order_of_trees = lengths - _count(required)
    return weights, torch.where(weights == NEG_INF, NOWHERE, orders), order_of_trees


def _count(required: Tensor) -> Tensor:
    """Return the number of edges ``(batch,)`` from 0/1 arcs: an edge of the root has one arc, others two."""
    return required[:, :, 0].sum(-1) + required[:, :, 1:].sum((-2, -1)) // 2


def _always_uses(inputs: tuple[Tensor, Tensor, Tensor], requested: Tensor) -> Tensor:
    """Return a mask ``(batch,)`` of the items in which every tree with all required edges has all requested ones.

    ``inputs`` are the arguments of `_load`; ``requested`` has the shape of its arcs, 1 or 0. The order of a tree
    counts its edges that are not required, and as a tie-break its requested ones.
    """
    arcs, lengths, required = inputs
    weights, orders, fewest = _load(arcs, lengths, required)
    above_all = arcs.shape[1] + 1
    orders = torch.where(weights == NEG_INF, NOWHERE, above_all * orders + requested)
    _, order = eliminate(weights.detach(), orders)
    feasible = order.div(above_all, rounding_mode="floor") == fewest
    return ~feasible | (order == above_all * fewest + _count(requested))


SUMS = Elimination(_load)

REFERENCE = SpanningTrees()
