"""Log-partitions in arbitrary precision, the truth where float64 is not enough."""

from __future__ import annotations

import torch
from torch import Tensor

# The elimination cancels at most as many digits as lie between the largest and the smallest weight:
# about 760 for scores of +-870, which are rare even where their standard deviation is 200.
DIGITS = 1000


def matrix_tree(arcs: Tensor) -> tuple[Tensor, Tensor]:
    """Return log-partition and arc marginals of single-root trees by the Matrix-Tree theorem (Koo et al. 2007).

    Args:
        arcs: Scores `(batch, n, n + 1)`; `[m, h]` scores head h of word m + 1, 0 being the root.

    Returns:
        Log-partition `(batch,)` and marginals `(batch, n, n + 1)` in float64.
    """
    pairs = [_one_tree(item) for item in arcs.double().tolist()]
    log_partition, marginals = zip(*pairs, strict=True)
    return torch.tensor(log_partition, dtype=torch.float64), torch.tensor(marginals, dtype=torch.float64)


def _one_tree(scores: list[list[float]]) -> tuple[float, list[list[float]]]:
    """Return the log-partition and the arc marginals of one sentence."""
    from mpmath import mp

    size = range(len(scores))
    with mp.workdps(DIGITS):
        weights = [[mp.exp(score) for score in row] for row in scores]
        laplacian = mp.matrix(len(scores))
        for word in size:
            for head in size:
                laplacian[word, head] = -weights[word][head + 1]
            laplacian[word, word] = sum(weights[word][head + 1] for head in size if head != word)
            laplacian[word, 0] = weights[word][0]
        inverse = mp.inverse(laplacian)
        determinant = mp.det(laplacian)

        def marginal(word: int, head: int) -> float:
            """Return a derivative of the log-determinant; column 0 holds the root weights, not those of word 1."""
            if head == 0:
                return float(weights[word][0] * inverse[0, word])
            if head == word + 1:
                return 0.0
            own = inverse[word, word] if word != 0 else mp.mpf(0)
            other = inverse[head - 1, word] if head != 1 else mp.mpf(0)
            return float(weights[word][head] * (own - other))

        table = [[marginal(word, head) for head in range(len(scores) + 1)] for word in size]
        return float(mp.log(determinant)), table
