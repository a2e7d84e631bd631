"""Loopy belief propagation for second-order dependency scores, with one variable for the head of each word.

The variables are the heads of words. Each pair of words {m, k} is a factor. It scores the pair if both have the
same head (siblings), or if one is the head of the other (grandparents). Only 3 (n - 1) of the n^2 values of a pair
have a score, so the message from word k to word m, for all heads h of m, takes O(n) time:

    h a third word or the root:   sum over g other than h and m of c(g)
                                  + c(h) exp(siblings[m, k, h]) + c(m) exp(grandparents[k, m, h])
    h = k:                        sum over g of c(g) exp(grandparents[m, k, g])

where c is the belief about the head of k without the message from m (Wang and Tu 2020; Smith and Eisner 2008).
Fixed points are stationary points of the Bethe free energy (Yedidia, Freeman and Weiss 2005); if the pairs of
nonzero score form no cycle, the fixed point is unique and exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.checks.lengths import Lengths
from strukt.inference.second_order.head_scores import SecondOrderScores, second_order_scores
from strukt.inference.settings import require_damping, require_iterations
from strukt.kernels.semiring import NEG_INF, finite, log_softmax, logsumexp


@dataclass(frozen=True)
class SecondOrderBeliefs:
    """Approximate marginals and log-partition of the heads of words, by loopy belief propagation.

    Attributes:
        log_marginals: ``batch + (n, n + 1)``, the estimated log-probability of each head of each of n words; -inf
            in the padding, and in an item whose messages rule out every choice of heads; differentiable.
        log_partition: ``batch``, the Bethe estimate of the log-partition over all choices of heads: minus the
            Bethe free energy; -inf in such an item; differentiable.
        change: ``batch``, the sum of the absolute changes of the messages, normalised to probabilities, in the
            last round; 0 at a fixed point.
    """

    log_marginals: Tensor
    log_partition: Tensor
    change: Tensor

    @property
    def marginals(self) -> Tensor:
        """The estimated probability of each head of each word: ``batch + (n, n + 1)``; 0 in the padding."""
        return self.log_marginals.exp()


def belief_propagation(
    arcs: Tensor,
    siblings: Tensor | None = None,
    grandparents: Tensor | None = None,
    lengths: Lengths | None = None,
    iterations: int = 3,
    damping: float = 0.0,
) -> SecondOrderBeliefs:
    """Run loopy belief propagation over the head of each word; gradients pass through all rounds.

    Each round updates all messages in parallel.

    Args:
        arcs: ``batch + (n, n + 1)``, scores of the heads of each word, as for `mean_field`.
        siblings: ``batch + (n, n, n + 1)``, or ``(n, n, n + 1)`` for all items, or None, as for `mean_field`.
        grandparents: ``batch + (n, n, n + 1)``, or ``(n, n, n + 1)`` for all items, or None, as for `mean_field`.
        lengths: ``batch``, in words; all n if None.
        iterations: Number of rounds of messages, O(n^3) time and memory each.
        damping: The weight of the old message in the new one, 0 or more and below 1.

    A score of -inf excludes an arc or a pair of arcs. If the messages rule out every choice of heads of an item,
    its log-partition is -inf and its marginals are 0. Messages along cycles may fail to notice that no choice is
    permitted.

    Returns:
        The estimated marginals and log-partition, and the change of the messages in the last round.

    Raises:
        ValueError: If shapes, types or values do not fit, ``iterations`` is below 1, or the damping is out of
            range.

    Sources:
        Smith and Eisner (2008), "Dependency parsing by belief propagation"; Wang and Tu (2020), "Second-order
        neural dependency parsing with message passing and end-to-end training".

    Examples:
        >>> from strukt import NonProjectiveTree
        >>> arcs = torch.tensor([[1.0, 0.0, 0.0], [1.1, 1.0, 0.0]])
        >>> rivals = torch.zeros(2, 2, 3)
        >>> rivals[:, :, 0] = -4.0  # two words below the root
        >>> result = belief_propagation(arcs, siblings=rivals)
        >>> result.marginals[1]
        tensor([0.2378, 0.7622, 0.0000])
        >>> NonProjectiveTree(result.log_marginals).mode
        tensor([0, 1])
    """
    require_iterations(iterations)
    require_damping(damping)
    scores = second_order_scores(arcs, siblings, grandparents, lengths)
    messages = before = torch.zeros_like(scores.siblings)  # [m, k, h]: from word k to word m about its head h
    for _ in range(iterations):
        before = messages
        messages = _damped(messages, _new_messages(scores, _cavity(scores, messages)), damping)
    return _result(scores, messages, before)


def _field(scores: SecondOrderScores, messages: Tensor) -> Tensor:
    """Return the log-weights ``[m, h]`` of the heads of each word, from scores and all messages."""
    return scores.arcs + messages.sum(-2)


def _cavity(scores: SecondOrderScores, messages: Tensor) -> Tensor:
    """Return the normalised log-weights ``[m, k, h]`` of the heads of word m without the message from word k.

    A head that word k excludes stays excluded: k could not use a message about it.
    """
    return log_softmax(_cavity_weights(scores, messages), -1)


def _cavity_weights(scores: SecondOrderScores, messages: Tensor) -> Tensor:
    """Return the log-weights of `_cavity`, not normalised."""
    field = _field(scores, messages).unsqueeze(-2).expand_as(messages)
    return torch.where(field == NEG_INF, NEG_INF, field - finite(messages))


def _new_messages(scores: SecondOrderScores, cavity: Tensor) -> Tensor:
    """Return the messages ``[m, k, h]`` from word k to word m about its head h; 0 where {m, k} is not a pair."""
    n = scores.words.shape[-1]
    sender = cavity.transpose(-2, -3)  # [m, k, g]: heads g of word k, without the message from m
    is_receiver = torch.eye(n, dtype=torch.bool, device=cavity.device).unsqueeze(-2)
    is_receiver = torch.nn.functional.pad(is_receiver, (1, 0))  # [m, 1, g]: True if g is word m
    others = torch.where(is_receiver, NEG_INF, sender)
    above = cavity.diagonal(1, -2, -1).mT.unsqueeze(-1)  # [m, k]: the head of k is m
    cases = [
        _log_sum_of_others(others),
        others + scores.siblings,
        above + scores.grandparents.transpose(-2, -3),
    ]
    below = logsumexp(sender + scores.grandparents, -1).unsqueeze(-1)
    messages = torch.where(is_receiver.transpose(-2, -3), below, logsumexp(torch.stack(cases), 0))
    return torch.where(scores.pairs.unsqueeze(-1), messages, 0.0)


def _log_sum_of_others(x: Tensor) -> Tensor:
    """Return, for each entry, the log of the summed exponentials of all others on the last axis.

    For the largest entry, the others are summed. Any other entry is subtracted from the full sum, of which it is
    at most half, so that nothing cancels.
    """
    largest = torch.arange(x.shape[-1], device=x.device) == x.argmax(-1, keepdim=True)
    top = finite(x.detach().amax(-1, keepdim=True))
    weights = (x - top).exp()
    others = weights.sum(-1, keepdim=True) - weights
    some = ~largest & (others > 0)
    rest = torch.where(some, torch.where(some, others, 1.0).log() + top, NEG_INF)
    return torch.where(largest, logsumexp(torch.where(largest, NEG_INF, x), -1).unsqueeze(-1), rest)


def _damped(old: Tensor, new: Tensor, damping: float) -> Tensor:
    """Return the mean of old and new messages, weighted by the damping; -inf where either of them is -inf."""
    excluded = (old == NEG_INF) | (new == NEG_INF)
    old, new = (torch.where(excluded, 0.0, each) for each in (old, new))
    return torch.where(excluded, NEG_INF, damping * old + (1 - damping) * new)


def _result(scores: SecondOrderScores, messages: Tensor, before: Tensor) -> SecondOrderBeliefs:
    """Return the marginals and the Bethe estimate: a term for each word and pair, minus one for each message."""
    cavity, field = _cavity(scores, messages), _field(scores, messages)
    words = torch.where(scores.words, logsumexp(field, -1), 0.0)
    joint = torch.where(scores.pairs, logsumexp(cavity + _new_messages(scores, cavity), -1), 0.0)
    feasible = (words > NEG_INF).all(-1) & (joint > NEG_INF).all(-1).all(-1)
    without = logsumexp(_cavity_weights(scores, messages), -1)
    edges = torch.where(scores.pairs, finite(words).unsqueeze(-1) - finite(without), 0.0)
    total = finite(words).sum(-1) + (0.5 * finite(joint) - edges).flatten(-2).sum(-1)
    moved = log_softmax(messages, -1).exp() - log_softmax(before, -1).exp()
    return SecondOrderBeliefs(
        log_marginals=torch.where(feasible[..., None, None], log_softmax(field, -1), NEG_INF),
        log_partition=torch.where(feasible, total, NEG_INF),
        change=torch.where(feasible, moved.detach().abs().flatten(-3).sum(-1), 0.0),
    )
