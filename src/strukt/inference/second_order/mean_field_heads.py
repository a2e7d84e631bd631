"""Mean field for second-order dependency scores: every word chooses its head independently.

A product q of one distribution over heads for each word bounds the log-partition from below by E_q[score] + H(q).
Mean field maximises this bound. Given all other words, the best distribution of a word is

    q_m(h) ~ exp(arcs[m, h] + sum_k siblings[m, k, h] q_k(h)                   k: other words with head h
                 + sum_g grandparents[m, h - 1, g] q_{h-1}(g)                  g: heads of h, if h is a word
                 + sum_k grandparents[k, m, h] q_k(m + 1))                     k: words whose head is m

(Wang and Tu 2020; Wainwright and Jordan 2008, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.checks.lengths import Lengths
from strukt.inference.second_order.head_scores import SecondOrderScores, second_order_scores
from strukt.inference.settings import require_iterations
from strukt.kernels.semiring import NEG_INF, finite, log_softmax


@dataclass(frozen=True)
class SecondOrderMeanField:
    """The result of `mean_field`: independent distributions over the head of each word.

    Attributes:
        log_marginals: ``batch + (n, n + 1)``, the log-probability of each head of each of n words; -inf in the
            padding, and in an item in which all heads of a word are forbidden; differentiable.
        lower_bound: ``batch``, lower bound on the log-partition over all choices of heads; -inf in such an item;
            differentiable.
        change: ``batch``, the sum of the absolute changes of the marginals in the last iteration.
    """

    log_marginals: Tensor
    lower_bound: Tensor
    change: Tensor

    @property
    def marginals(self) -> Tensor:
        """The probability of each head of each word: ``batch + (n, n + 1)``; 0 in the padding."""
        return self.log_marginals.exp()


def mean_field(
    arcs: Tensor,
    siblings: Tensor | None = None,
    grandparents: Tensor | None = None,
    lengths: Lengths | None = None,
    iterations: int = 3,
    together: int | None = None,
) -> SecondOrderMeanField:
    """Run mean field over the head of each word; gradients pass through all iterations.

    It starts from the distributions of the arc scores alone.

    Args:
        arcs: ``batch + (n, n + 1)``; ``[m, h]`` is the score of head h for word m + 1, and h = 0 is the root.
            Entries of a word as its own head have no effect, but must not be NaN or +inf.
        siblings: ``batch + (n, n, n + 1)``, or ``(n, n, n + 1)`` for all items; ``[m, k, h]`` is the score of head
            h for both words m + 1 and k + 1. Only the mean of ``[m, k]`` and ``[k, m]`` counts. None for scores of
            0.
        grandparents: ``batch + (n, n, n + 1)``, or ``(n, n, n + 1)`` for all items; ``[m, k, h]`` is the score of
            head k + 1 for word m + 1 and head h for word k + 1. Entries of a word as its own grandparent have
            no effect, but must not be NaN or +inf. None for scores of 0.
        lengths: ``batch``, in words; all n if None.
        iterations: The number of updates of each word, O(n^3) time each.
        together: The number of words updated at once. None for all, as in Wang and Tu (2020): this is fastest, but
            words that depend strongly on each other may oscillate. With 1, in n sequential steps, the bound never
            falls.

    A second-order score of -inf excludes a pair of arcs: a word then chooses among the heads that are least likely
    to form an excluded pair. If an excluded pair keeps a positive probability, the bound is -inf. This is least
    likely with ``together=1``.

    Returns:
        The distributions of the heads, the bound on the log-partition, and the change in the last iteration.

    Raises:
        ValueError: If shapes, types or values do not fit, or ``iterations`` or ``together`` is below 1.

    Source:
        Wang and Tu (2020), "Second-order neural dependency parsing with message passing and end-to-end training".

    Examples:
        >>> from strukt import NonProjectiveTree
        >>> arcs = torch.tensor([[1.0, 0.0, 0.0], [1.1, 1.0, 0.0]])
        >>> rivals = torch.zeros(2, 2, 3)
        >>> rivals[:, :, 0] = -4.0  # two words below the root
        >>> result = mean_field(arcs, siblings=rivals)
        >>> result.marginals[1]
        tensor([0.0667, 0.9333, 0.0000])
        >>> NonProjectiveTree(result.log_marginals).mode
        tensor([0, 1])
    """
    require_iterations(iterations)
    if together is not None and together < 1:
        raise ValueError(f"together is {together}; expected at least 1 word, or None for all")
    scores = second_order_scores(arcs, siblings, grandparents, lengths)
    averaged, excluded = _pairs(scores)
    n = arcs.shape[-2]
    step = together or max(n, 1)
    log_marginals = before = log_softmax(scores.arcs, -1)
    for _ in range(iterations):
        before = log_marginals
        for block in (slice(start, start + step) for start in range(0, n, step)):
            marginals = log_marginals.exp()
            arcs_of_block = scores.arcs[..., block, :]
            possible = _least(arcs_of_block, excluded.expected(marginals.detach(), block))
            log_weights = torch.where(possible, arcs_of_block + averaged.expected(marginals, block), NEG_INF)
            log_marginals = _replaced(log_marginals, log_softmax(log_weights, -1), block)
    return _result(scores, log_marginals, before)


@dataclass(frozen=True)
class _Pairs:
    """Values of pairs of arcs: siblings and grandparents, ``batch + (n, n, n + 1)`` each."""

    siblings: Tensor
    grandparents: Tensor

    def expected(self, marginals: Tensor, block: slice) -> Tensor:
        """Return the expected sum of the values of each arc's pairs, for the words of ``block``.

        Args:
            marginals: ``batch + (n, n + 1)``, the probability of each arc.
            block: The words.

        Returns:
            ``batch + (words, n + 1)``.
        """
        siblings, dependents = self.siblings[..., block, :, :], self.grandparents[..., block, :, :]
        beside = torch.einsum("...mkh,...kh->...mh", siblings, marginals)
        above = torch.einsum("...mkg,...kg->...mk", dependents, marginals)
        to_block = marginals[..., 1:][..., block]
        below = torch.einsum("...kmh,...km->...mh", self.grandparents[..., block, :], to_block)
        return beside + torch.nn.functional.pad(above, (1, 0)) + below


def _pairs(scores: SecondOrderScores) -> tuple[_Pairs, _Pairs]:
    """Return the scores of pairs, 0 for excluded ones, and the indicators of excluded pairs: 1, or else 0."""
    both = scores.siblings, scores.grandparents
    return _Pairs(*map(finite, both)), _Pairs(*((each == NEG_INF).to(each.dtype) for each in both))


def _least(arcs: Tensor, clash: Tensor) -> Tensor:
    """Return a mask of the allowed heads that are least likely to form an excluded pair.

    Args:
        arcs: ``batch + (words, n + 1)``, the scores of the heads of some words; -inf for heads not allowed.
        clash: The expected number of excluded pairs that each of these arcs forms, in the same shape.
    """
    clash = torch.where(arcs == NEG_INF, torch.inf, clash)
    return clash == clash.amin(-1, keepdim=True)


def _replaced(rows: Tensor, new: Tensor, block: slice) -> Tensor:
    return torch.cat([rows[..., : block.start, :], new, rows[..., block.stop :, :]], -2)


def _result(scores: SecondOrderScores, log_marginals: Tensor, before: Tensor) -> SecondOrderMeanField:
    """Return marginals and bound; the bound is -inf for items in which a word has no head."""
    feasible = ((scores.arcs > NEG_INF).any(-1) | ~scores.words).all(-1)
    log_marginals = torch.where(feasible[..., None, None], log_marginals, NEG_INF)
    marginals, every = log_marginals.exp(), slice(None)
    averaged, excluded = _pairs(scores)
    worth = finite(scores.arcs) + 0.5 * averaged.expected(marginals, every)  # each pair counts at both arcs
    bound = (marginals * (worth - finite(log_marginals))).flatten(-2).sum(-1)
    clash = (marginals * excluded.expected(marginals, every)).detach().flatten(-2).sum(-1)
    change = (marginals - before.exp()).detach().abs().flatten(-2).sum(-1)
    return SecondOrderMeanField(
        log_marginals=log_marginals,
        lower_bound=torch.where(feasible & (clash == 0), bound, NEG_INF),
        change=torch.where(feasible, change, 0.0),
    )
