"""Reference of non-projective trees in PyTorch: Matrix-Tree theorem for sums, Chu-Liu/Edmonds for best trees."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree import kbest
from strukt.structures.non_projective_tree.matrix_tree import NOWHERE, Elimination, padded_weights
from strukt.structures.non_projective_tree.max_marginals import max_marginals


class MatrixTree(Elimination):
    """The reference oracles of non-projective trees; arguments are ``arcs, lengths, single_root``."""

    def entropy(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        return self.cross_entropy((arcs,), (arcs,), lengths, single_root)

    def cross_entropy(self, scores: Scores, other: Scores, lengths: Tensor, single_root: bool) -> Tensor:
        """Return the cross-entropy -E[log q] ``(batch,)`` in nats; q is the distribution of ``other``."""
        mine, theirs = ((*each, lengths, single_root) for each in (scores, other))
        return self.expected_surprise(mine, theirs)

    def best(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
        """Return heads of the best tree ``(batch, n)`` and its score ``(batch,)``; time O(n^2)."""
        return kbest.best(arcs, lengths, single_root)

    def kbest(self, arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor]:
        """Return heads of the k best trees ``(batch, k, n)`` and their scores ``(batch, k)``; O(k n^2 + k^2)."""
        return kbest.kbest(arcs, lengths, single_root, k)

    @torch.no_grad()
    def max_marginals(self, arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
        """Return, for each arc, the best score of a tree that uses it, -inf if none does; time O(n^3)."""
        if not arcs.numel():
            return torch.zeros_like(arcs)
        _, best = kbest.best(arcs.double(), lengths, single_root)
        weights = padded_weights(arcs, lengths)
        return max_marginals(weights, lengths, single_root, best).to(arcs.dtype)


def _load(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return the log-weights of arcs, their orders ``(batch, n, n + 1)``, and the order ``(batch,)`` of the trees.

    An order counts root arcs (see `matrix_tree`): with ``single_root``, root arcs and trees have order 1, and all
    other arcs 0; else all orders are 0.
    """
    weights = padded_weights(arcs, lengths)
    words, heads = (torch.arange(size, device=arcs.device) for size in arcs.shape[1:])
    rooted = (heads == 0) & (words.unsqueeze(-1) < lengths[:, None, None])
    orders = (rooted & single_root).long()
    order_of_trees = (lengths > 0).long() if single_root else torch.zeros_like(lengths)
    return weights, torch.where(weights == NEG_INF, NOWHERE, orders), order_of_trees


REFERENCE = MatrixTree(_load)
