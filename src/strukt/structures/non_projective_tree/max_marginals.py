"""Max-marginals of non-projective trees in O(n^3): the marginals in the limit of zero temperature.

Let w_mh be the weight of head h for word m, and let a walk go from a word to each of its heads with probability
proportional to their weights. The probability that a tree uses the arc from h to m is proportional, among the
heads of m, to w_mh P_m(h), where P_m(h) is the probability that the walk from h reaches the root before it reaches
m: the weight of the trees that use the arc is w_mh times that of the forests in which m and the root are the roots
and h is a descendant of the root, and P_m(h) is the share of these among all forests with these two roots (Wilson
1996: the path from h in a random forest is a walk from h without its loops, and ends where the walk does).

P_m is computed by eliminating all words but m (Grassmann, Taksar and Heyman 1985). With d_k the summed weight of
the heads of k among the nodes that remain, each path through k becomes an arc, w_ij += w_ik w_kj / d_k. Then
P_m(k) = sum over j of w_kj P_m(j) / d_k, computed first for the word that was eliminated last. `halves` does this
for all m in O(n^3).

No number is subtracted here. Let each score be beta times as large. Every number then is a sum, product or
quotient of positive ones, and by induction 1/beta times its logarithm converges, as beta grows, to the same
expression with max for sums, + for products and - for quotients: log(a + b) lies between max(log a, log b) and the
same plus log 2. The limit of the summed weight of the trees that use an arc is the best score of these. So

    best score with (m, h) = best score + (s_mh + P_m(h)) - max over h' of (s_mh' + P_m(h'))

with the max-plus P_m. Scores are only added, subtracted and compared, in float64, so that the error is that of
sums of O(n) scores, as in the score of a tree itself: the scores need no shift, unlike in the log-sums of
`reference`, where a rounded score would change the shares of ties.

If exactly one word may depend on the root, the weights of its arcs are multiplied by an epsilon that goes to 0
before beta grows, so that of every sum the terms of lowest order in epsilon remain. Those of the root are kept in
two columns, of order 0 and 1. A pivot d_k excludes column 1, unless k has no other head: then k must depend on the
root, and its share of column 0 is 1; no path leads through it to a word, so all weights between words stay of
order 0. Only the heads of m of the lower order count. The trees of lowest order are those with a single root
wherever there are any, and all other terms are -inf.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF

ROOTS = 2
"""The number of columns for the root: one of order zero, one of order one in epsilon."""


def max_marginals(weights: Tensor, lengths: Tensor, single_root: bool, best: Tensor) -> Tensor:
    """Return, for each arc, the best score of a tree that uses it, -inf if none does, in the shape of ``weights``.

    Time O(n^3) per item, O(n log n) steps one after another.

    Args:
        weights: ``(batch, n, n + 1)``, n > 0: scores, as `matrix_tree.padded_weights` returns.
        lengths: ``(batch,)``.
        single_root: Whether exactly one word depends on the root.
        best: The best score of a tree ``(batch,)``, -inf if there is none.
    """
    within = torch.arange(weights.shape[1], device=weights.device) < lengths.unsqueeze(-1)
    counted = within if single_root else torch.zeros_like(within)
    root, words = weights[..., 0], weights[..., 1:]
    roots = torch.stack([root.masked_fill(counted, NEG_INF), root.masked_fill(~counted, NEG_INF)], -1)
    reached = _reached(torch.cat([roots, words], -1))
    each = torch.cat([roots.unsqueeze(2), words.unsqueeze(-1) + reached.transpose(1, 2)], 2)
    orders = each.unbind(-1)
    first = orders[0].amax(-1, keepdim=True) > NEG_INF
    through = torch.where(first, orders[0], orders[1])
    loss = through - through.amax(-1, keepdim=True).clamp(min=torch.finfo(through.dtype).min)
    feasible = within & (best > NEG_INF).unsqueeze(-1)
    return torch.where(feasible.unsqueeze(-1), best[:, None, None] + loss, NEG_INF)


def _reached(weights: Tensor) -> Tensor:
    """Return P_m(k) in both orders, ``[:, k, m]`` of ``(batch, s, s, 2)``, of ``weights (batch, s, 2 + s)``.

    It is -inf for k = m.
    """
    batch, size, _ = weights.shape
    if size == 1:
        return weights.new_full((batch, 1, 1, ROOTS), NEG_INF)
    half = size // 2
    first, second = (torch.arange(start, stop, device=weights.device) for start, stop in ((0, half), (half, size)))
    root = torch.arange(ROOTS, device=weights.device)
    columns = []
    for kept, others in ((first, second), (second, first)):
        order = torch.cat([kept, others])
        remaining = weights[:, order][:, :, torch.cat([root, ROOTS + order])]
        shares = []
        for k in range(size - 1, len(kept) - 1, -1):
            shares.append(_shares(remaining[:, k, : ROOTS + k]))
            through = remaining[:, :k, ROOTS + k, None] + shares[-1].unsqueeze(1)
            remaining = torch.maximum(remaining[:, :k, : ROOTS + k], through)
        reached = _reached(remaining)
        for share in reversed(shares):
            through = (share[:, ROOTS:, None, None] + reached).amax(1)
            row = torch.maximum(through, share[:, None, :ROOTS])
            reached = torch.cat([reached, row.unsqueeze(1)], 1)
        columns.append(reached[:, order.argsort()])
    return torch.cat(columns, 2)


def _shares(weights: Tensor) -> Tensor:
    """Return the shares of a word's heads: their ``weights (batch, 2 + k)`` minus the maximum.

    The first two are those of the root; that of order 1 counts only if there is no other head.
    """
    places = torch.arange(weights.shape[-1], device=weights.device)
    pivot = weights.masked_fill(places == 1, NEG_INF).amax(-1, keepdim=True)
    sure = torch.where((places == 0) & (weights[:, 1:2] > NEG_INF), 0.0, NEG_INF)
    return torch.where(pivot > NEG_INF, weights - pivot.clamp(min=torch.finfo(pivot.dtype).min), sure)
