"""Attention whose weights are marginals of a binary CRF over the positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.distributions import BinaryCRF
from strukt.inference.settings import require_damping, require_iterations, require_tolerance
from strukt.nn.attention import AdditiveScores, Attention
from strukt.nn.joint_perceptron import JointPerceptron


class MeanFieldAttention(Attention):
    """Relational attention: mean-field marginals of a fully connected binary CRF over the positions.

    Any number of positions may be relevant, and the relevance of one depends on the others. For each query,
    s_i = 1 means that position i is relevant. A relevant position i scores phi_i, and a pair of relevant positions
    i and j scores J_ij. The weights need not sum to 1: they are the marginals after several sweeps of mean field,
    each over all positions in parallel,

        chi = phi,   then repeatedly   s = sigmoid(chi),   chi = phi + J s,   and at last   sigmoid(chi).

    In the published form, arbitrary networks compute phi_i = D_unary(h_i, d_t) and J_ij = D_binary(h_i, h_j, d_t)
    from keys h and queries d; `of_perceptrons` uses perceptrons for both. The graph is undirected: J_ij is the
    mean over both orders of i and j, and the diagonal is 0. A sweep takes O(n^2) for each query.

    By default, phi comes from a perceptron with one hidden layer, and J has low rank: J_ij = sum_l w_l k_il k_jl
    for i other than j, where k_i is tanh of a projection of key and query. J is then never materialised: a sweep
    takes O(n r).

    Args:
        queries: Size of the queries.
        keys: Size of the keys.
        size: Size of the hidden layer for phi, and the rank r, the size of k; unused if both networks are given.
        iterations: Number of sweeps. With 0, positions are independent.
        damping: Share of its old value that chi keeps, at least 0 and below 1, to prevent oscillation; 0 in the
            published form.
        tol: A query stops as soon as none of its marginals changes by more than this; None to run all sweeps.
        rivalry: Initial strength of the repulsion: J_ij starts as -rivalry times the mean of k_il k_jl over l.
            Only used with low rank.
        unary: Maps ``(*batch, keys)`` and ``(*batch, queries)``, which broadcast, to phi, ``(*batch,)``; None for
            the perceptron.
        binary: Maps ``(*batch, keys)`` twice and ``(*batch, queries)``, which broadcast, to J, ``(*batch,)``; None
            for low rank.

    With low rank, all w_l start at the same number below 0: positions with similar k compete, and each is less
    relevant the more competitors are relevant. This start suits attention that chooses among many positions. To
    count positions, set ``rivalry`` to 0.

    Source: Liu Ziyin et al. (2019), "Relational attention networks via fully-connected conditional random fields",
    algorithm 1, whose k iterations are k sweeps here. The signs follow `BinaryCRF`: J > 0 attracts.

    Raises:
        ValueError: If a size is less than 1, `iterations` is not a whole number of 0 or more, `tol` is below 0, or
            `damping` is not at least 0 and below 1.

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
        unary: nn.Module | None = None,
        binary: nn.Module | None = None,
    ) -> None:
        super().__init__(queries, keys, size)
        require_iterations(iterations, least=0)
        require_damping(damping)
        if tol is not None:
            require_tolerance(tol)
        self.iterations, self.damping, self.tol = iterations, damping, tol
        self.unary = AdditiveScores(queries, keys, size) if unary is None else unary
        self.binary = binary
        if binary is None:
            self.query, self.key = nn.Linear(queries, size), nn.Linear(keys, size, bias=False)
            self.interaction = nn.Parameter(torch.full((size,), -rivalry / size))

    @classmethod
    def of_perceptrons(
        cls,
        queries: int,
        keys: int,
        size: int,
        iterations: int = 5,
        damping: float = 0.0,
        tol: float | None = None,
    ) -> MeanFieldAttention:
        """Return the published form: phi and J are computed by perceptrons with one hidden layer.

        Args:
            queries: Size of the queries.
            keys: Size of the keys.
            size: Size of the hidden layer of both perceptrons.
            iterations: Number of sweeps.
            damping: Share of its old value that chi keeps, at least 0 and below 1.
            tol: A query stops as soon as none of its marginals changes by more than this; None to run all sweeps.

        Raises:
            ValueError: As the class does.

        Examples:
            >>> attend = MeanFieldAttention.of_perceptrons(4, 6, size=8, tol=1e-4)
            >>> attend(torch.randn(2, 3, 4), torch.randn(2, 5, 6)).weights.shape
            torch.Size([2, 3, 5])
        """
        unary = JointPerceptron(keys, queries, hidden=size)
        binary = JointPerceptron(keys, keys, queries, hidden=size)
        return cls(queries, keys, size, iterations, damping, tol, unary=unary, binary=binary)

    def weights(self, queries: Tensor, keys: Tensor, inside: Tensor) -> Tensor:
        *_, last = self._sweeps(queries, keys, inside)
        return last

    def sweeps(self, queries: Tensor, keys: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the weights before the first sweep and after each sweep: ``(sweeps + 1, batch, t, n)``.

        There are ``iterations`` sweeps, or fewer if all queries stop earlier because of ``tol``.

        Args:
            queries: ``(batch, t, queries)``.
            keys: ``(batch, n, keys)``; padding is ignored.
            lengths: ``(batch,)``, lengths of the keys; all n if None.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        keys, _, inside = self.within(queries, keys, lengths)
        return torch.stack(list(self._sweeps(queries, keys, inside)))

    def crf(self, queries: Tensor, keys: Tensor, lengths: Lengths | None = None) -> BinaryCRF:
        """Return the distribution over sets of relevant positions, for example to inspect the interactions J.

        Args:
            queries: ``(batch, t, queries)``.
            keys: ``(batch, n, keys)``; padding is ignored.
            lengths: ``(batch,)``, lengths of the keys; all n if None.

        Returns:
            A `BinaryCRF` over n positions with batch shape ``(batch, t)``.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        keys, lengths, _ = self.within(queries, keys, lengths)
        pairwise = self._pairwise(queries, keys)
        return BinaryCRF(
            self._unary(queries, keys), pairwise, lengths.unsqueeze(1).expand(-1, queries.shape[1])
        )

    def _sweeps(self, queries: Tensor, keys: Tensor, inside: Tensor) -> Iterator[Tensor]:
        """Yield the weights ``(batch, t, n)`` before the first sweep and after each sweep."""
        unary, field = self._unary(queries, keys), self._field(queries, keys)
        chi = unary
        marginals = chi.sigmoid() * inside
        yield marginals
        moving: Tensor | None = None  # the queries that have not converged
        for _ in range(self.iterations):
            moved = (1 - self.damping) * (unary + field(marginals)) + self.damping * chi
            chi = moved if moving is None else torch.where(moving, moved, chi)
            before, marginals = marginals, chi.sigmoid() * inside
            yield marginals
            if self.tol is not None:
                moving = ((marginals - before).abs() > self.tol).any(-1, keepdim=True)
                if not bool(moving.any()):
                    break

    def _field(self, queries: Tensor, keys: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the function from s to J s, ``(batch, t, n)``."""
        if self.binary is not None:
            pairwise = self._pairwise(queries, keys)
            return lambda marginals: (pairwise @ marginals.unsqueeze(-1)).squeeze(-1)
        features = self._features(queries, keys)
        diagonal = (features.square() * self.interaction).sum(-1)

        def of_low_rank(marginals: Tensor) -> Tensor:
            pooled = (features * marginals.unsqueeze(-1)).sum(2, keepdim=True)
            return (features * (self.interaction * pooled)).sum(-1) - diagonal * marginals

        return of_low_rank

    def _unary(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return phi, ``(batch, t, n)``."""
        scores: Tensor = self.unary(keys.unsqueeze(1), queries.unsqueeze(2))
        return scores

    def _pairwise(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return J, ``(batch, t, n, n)``, symmetric and 0 on the diagonal."""
        if self.binary is None:
            features = self._features(queries, keys)
            pairwise = (features * self.interaction) @ features.mT
        else:
            ordered = self.binary(keys[:, None, :, None], keys[:, None, None, :], queries[:, :, None, None])
            pairwise = (ordered + ordered.mT) / 2
        return pairwise - torch.diag_embed(pairwise.diagonal(0, -2, -1))

    def _features(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return k, ``(batch, t, n, r)``."""
        features: Tensor = (self.query(queries).unsqueeze(2) + self.key(keys).unsqueeze(1)).tanh()
        return features
