"""Sums over undirected spanning trees by the elimination of non-projective trees, in PyTorch.

Required edges are a matter of orders, exact integers beside the weights: an edge that is not required has order
one, so that the trees with the most required edges have the lowest order, and their sum is what is wanted if
these are all required edges. Nothing is added to a score.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree.reference import NOWHERE, Elimination, eliminate, padded_weights
from strukt.structures.spanning_tree import arcs as on_arcs
from strukt.structures.spanning_tree import trees


class SpanningTrees:
    """The reference oracles; arguments are ``edges (batch, n, n)``, ``absent`` likewise, and ``lengths``.

    An edge is required where ``absent``, which consecutive items may share, is -inf.
    """

    def log_partition(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
        """``(batch,)``, differentiable any number of times; time O(n^3), computed in float64."""
        return SUMS.log_partition(*_rooted(edges, absent, lengths))

    def entropy(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
        """``(batch,)`` in nats."""
        return self.cross_entropy((edges, absent), (edges, absent), lengths)

    def cross_entropy(self, scores: Scores, other: Scores, lengths: Tensor) -> Tensor:
        """``(batch,)`` in nats: -E[log q] of the distribution q of ``other`` under that of ``scores``."""
        (edges, absent), (other_edges, other_absent) = scores, other
        mine, theirs = _rooted(edges, absent, lengths), _rooted(other_edges, other_absent, lengths)
        found = SUMS.expected_surprise(mine, theirs)
        return torch.where(_always_uses(mine, theirs[2]), found, torch.inf)

    def best(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """A best event ``(batch, n, n)`` and its score ``(batch,)``; time O(n^2)."""
        events, scores = trees.kbest(edges, absent, lengths, 1)
        return events[:, 0], scores[:, 0]

    def kbest(self, edges: Tensor, absent: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k best events ``(batch, k, n, n)`` and their scores ``(batch, k)``; time O(k n^3)."""
        return trees.kbest(edges, absent, lengths, k)

    def sample(self, edges: Tensor, absent: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Events ``(batch, count, n, n)`` and the log-partition; time O(n^4) each."""
        heads, log_partition = SUMS.sample(*_rooted(edges, absent, lengths), count)
        scores = log_partition.unsqueeze(-1).expand(-1, count)
        return on_arcs.events(heads, scores, lengths, edges.shape[-1]), log_partition


def _rooted(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Arcs, number of words, and required arcs."""
    required = on_arcs.required_edges(edges, absent, lengths)
    return on_arcs.to_arcs(edges), on_arcs.words(lengths), on_arcs.to_arcs(required.long())


def _load(arcs: Tensor, lengths: Tensor, required: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Order one for each edge that is not required, 0 beyond the length."""
    weights = padded_weights(arcs, lengths)
    within = torch.arange(arcs.shape[1], device=arcs.device) < lengths.unsqueeze(-1)
    orders = within.unsqueeze(-1) * (1 - required)
    wanted = lengths - _count(required)
    return weights, torch.where(weights == NEG_INF, NOWHERE, orders), wanted


def _count(required: Tensor) -> Tensor:
    """The number of edges, given both arcs of those between words and the one from the root to a word."""
    return required[:, :, 0].sum(-1) + required[:, :, 1:].sum((-2, -1)) // 2


def _always_uses(given: tuple[Tensor, Tensor, Tensor], wanted: Tensor) -> Tensor:
    """Whether every tree that has all its required edges has all wanted ones too: ``(batch,)``.

    The lowest order counts first the edges that are not required, then the wanted ones that are used.
    """
    arcs, lengths, required = given
    weights, orders, fewest = _load(arcs, lengths, required)
    above_all = arcs.shape[1] + 1
    orders = torch.where(weights == NEG_INF, NOWHERE, above_all * orders + wanted)
    _, order = eliminate(weights.detach(), orders)
    feasible = order.div(above_all, rounding_mode="floor") == fewest
    return ~feasible | (order == above_all * fewest + _count(wanted))


SUMS = Elimination(_load)

REFERENCE = SpanningTrees()
