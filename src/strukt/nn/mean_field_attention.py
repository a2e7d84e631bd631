"""Attention whose weights are marginals of a binary CRF over the positions."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from strukt.distributions import BinaryCRF
from strukt.inference.settings import require_damping
from strukt.kernels.lengths import Lengths
from strukt.nn.attention import AdditiveScores, Attention


class MeanFieldAttention(Attention):
    """Any number of positions may be relevant, and their relevance depends on that of others, by mean field.

    For each query, s_i = 1 says that position i is relevant, which scores phi_i, and J_ij if j is so, too. The
    weights are the marginals after some sweeps of mean field, all positions at once,

        chi = phi,   then repeatedly   s = sigmoid(chi),   chi = phi + J s,   and at last   sigmoid(chi).

    phi comes from a network of one hidden layer. J_ij = sum_l w_l k_il k_jl for i other than j, where k_i is
    tanh of a projection of key and query, so that J is never made: a sweep takes O(n r).

    Args:
        queries: Size of the queries.
        keys: Size of the keys.
        size: Of the hidden layer behind phi, and r, that of k.
        iterations: Sweeps. With none, positions are independent.
        damping: Share of its old value that chi keeps, from 0 to below 1, against swinging to and fro.
        tol: On the change of a marginal, at which the sweeps end; None to make all of them.
        rivalry: How strong rivals are at first: J_ij is the mean of k_il k_jl times -rivalry.

    At first every w_l is the same number below 0: positions with similar k are rivals, which are the less relevant
    the more of them are. So begun, attention learns to choose among many; to count them, it begins better without.

    Source: Liu Ziyin et al. (2018), "Relational attention networks via fully-connected conditional random fields".
    The signs are those of `BinaryCRF`, where J > 0 attracts.

    Examples:
        >>> attend = MeanFieldAttention(4, 6, size=8, iterations=5)
        >>> attended = attend(torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.tensor([5, 2]))
        >>> attended.context.shape, bool((attended.weights[1, :, 2:] == 0).all())
        (torch.Size([2, 3, 6]), True)
    """

    def __init__(
        self,
        queries: int,
        keys: int,
        size: int,
        iterations: int = 5,
        damping: float = 0.0,
        tol: float | None = None,
        rivalry: float = 1.0,
    ) -> None:
        super().__init__(queries, keys, size)
        if iterations < 0:
            raise ValueError(f"iterations is {iterations}; expected at least 0")
        require_damping(damping)
        self.iterations, self.damping, self.tol = iterations, damping, tol
        self.unary = AdditiveScores(queries, keys, size)
        self.query, self.key = nn.Linear(queries, size), nn.Linear(keys, size, bias=False)
        self.interaction = nn.Parameter(torch.full((size,), -rivalry / size))

    def weights(self, queries: Tensor, keys: Tensor, inside: Tensor) -> Tensor:
        *_, found = self._sweeps(queries, keys, inside)
        return found

    def sweeps(self, queries: Tensor, keys: Tensor, lengths: Lengths | None = None) -> Tensor:
        """The weights after no sweep, after one, and so on to the last: ``(sweeps + 1, batch, t, n)``.

        Args:
            queries: ``(batch, t, queries)``.
            keys: ``(batch, n, keys)``; the padding is ignored.
            lengths: ``(batch,)``, of the keys; all n if None.
        """
        keys, _, inside = self.within(queries, keys, lengths)
        return torch.stack(list(self._sweeps(queries, keys, inside)))

    def _sweeps(self, queries: Tensor, keys: Tensor, inside: Tensor) -> Iterator[Tensor]:
        unary: Tensor = self.unary(queries, keys)
        features = self._features(queries, keys)
        own = (features.square() * self.interaction).sum(-1)
        chi = unary
        marginals = chi.sigmoid() * inside
        yield marginals
        moving: Tensor | None = None  # which queries have not come to rest
        for _ in range(self.iterations):
            pooled = (features * marginals.unsqueeze(-1)).sum(2, keepdim=True)
            field = (features * (self.interaction * pooled)).sum(-1) - own * marginals
            moved = (1 - self.damping) * (unary + field) + self.damping * chi
            chi = moved if moving is None else torch.where(moving, moved, chi)
            before, marginals = marginals, chi.sigmoid() * inside
            yield marginals
            if self.tol is not None:
                moving = ((marginals - before).abs() > self.tol).any(-1, keepdim=True)
                if not bool(moving.any()):
                    break

    def crf(self, queries: Tensor, keys: Tensor, lengths: Lengths | None = None) -> BinaryCRF:
        """The distribution ``(batch, t)`` over relevant positions: for its energies, or to see J."""
        keys, lengths, _ = self.within(queries, keys, lengths)
        features = self._features(queries, keys)
        pairwise = (features * self.interaction) @ features.mT
        pairwise = pairwise - torch.diag_embed(pairwise.diagonal(0, -2, -1))
        unary: Tensor = self.unary(queries, keys)
        return BinaryCRF(unary, pairwise, lengths.unsqueeze(1).expand(-1, queries.shape[1]))

    def _features(self, queries: Tensor, keys: Tensor) -> Tensor:
        """k, ``(batch, t, n, r)``."""
        found: Tensor = (self.query(queries).unsqueeze(2) + self.key(keys).unsqueeze(1)).tanh()
        return found
