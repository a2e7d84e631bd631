"""Loopy belief propagation (BP, sum-product) in pairwise models of binary variables, such as `BinaryCRF`.

Factor graphs have a BP of their own: `strukt.factor_graph.belief_propagation`.

Messages are log-odds: the message from variable i to variable j is what i adds to the log-odds of a 1 at j. Fixed
points are stationary points of the Bethe free energy (Yedidia, Freeman and Weiss 2005); if the pairs form no
cycle, the fixed point is unique and exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.inference.settings import require_damping, require_iterations
from strukt.kernels.semiring import logsumexp


@dataclass(frozen=True)
class BeliefPropagation:
    """Approximate marginals and log-partition of binary variables, by loopy belief propagation.

    Attributes:
        marginals: ``batch + (n,)``, the estimated probability that each variable is 1; differentiable.
        pairwise_marginals: ``batch + (n, n)``, the estimated probability that both variables are 1, with the
            marginals on the diagonal; differentiable. For pairs with score 0 it is the product of the marginals,
            even if other pairs connect the variables.
        log_partition: ``batch``, the Bethe estimate: minus the Bethe free energy; differentiable. After
            `BinaryCRF.condition` it is -inf if required variables are forbidden; marginals are then meaningless.
        change: ``batch``, the sum of the absolute changes of all messages in the last round; 0 at a fixed point.
    """

    marginals: Tensor
    pairwise_marginals: Tensor
    log_partition: Tensor
    change: Tensor


def belief_propagation(unary: Tensor, pairwise: Tensor, iterations: int, damping: float) -> BeliefPropagation:
    """Run loopy belief propagation over binary variables with pairwise scores, each round in parallel.

    Gradients pass through all rounds.

    Args:
        unary: ``batch + (n,)``, the score of a 1 at each variable; -inf fixes the variable to 0.
        pairwise: ``batch + (n, n)``, symmetric with a zero diagonal: the score if both variables are 1; -inf if
            they must not both be 1.
        iterations: Number of rounds of messages, O(n^2) time each.
        damping: The weight of the old message in the new one, 0 or more and below 1.

    Raises:
        ValueError: If ``iterations`` is below 1, or the damping is out of range.

    Examples:
        >>> pair = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> result = belief_propagation(torch.zeros(2), pair, 20, 0.0)
        >>> result.log_partition, torch.tensor(3 + 2.71828).log()
        (tensor(1.7437), tensor(1.7437))
    """
    require_iterations(iterations)
    require_damping(damping)
    messages = before = torch.zeros_like(pairwise + unary.unsqueeze(-1))  # [i, j]: from i to j
    for _ in range(iterations):
        before = messages
        cavity = _cavity(unary, messages)
        new = _log_one_plus_exp(cavity + pairwise) - _log_one_plus_exp(cavity)
        messages = damping * messages + (1 - damping) * new
    cavity, field = _cavity(unary, messages), unary + messages.sum(-2)
    joint = _joint(cavity, pairwise)
    marginals = field.sigmoid()
    diagonal = torch.eye(unary.shape[-1], dtype=torch.bool, device=unary.device)
    pairs = torch.where(diagonal, torch.diag_embed(marginals), joint[..., 3].exp())
    change = (messages - before).detach().abs().flatten(-2).sum(-1)
    return BeliefPropagation(marginals, pairs, _bethe(field, cavity, pairwise), change)


def _cavity(unary: Tensor, messages: Tensor) -> Tensor:
    """Return the log-odds ``[i, j]`` of variable i without the message from j."""
    return (unary + messages.sum(-2)).unsqueeze(-1) - messages.mT


def _pair_weights(cavity: Tensor, pairwise: Tensor) -> Tensor:
    """Return the log-weights of the four values 00, 10, 01, 11 of each pair, on a new last axis."""
    return torch.stack([torch.zeros_like(cavity), cavity, cavity.mT, cavity + cavity.mT + pairwise], -1)


def _joint(cavity: Tensor, pairwise: Tensor) -> Tensor:
    """Return the log-probabilities of the four values 00, 10, 01, 11 of each pair, on a new last axis."""
    weights = _pair_weights(cavity, pairwise)
    return weights - logsumexp(weights, -1).unsqueeze(-1)


def _bethe(field: Tensor, cavity: Tensor, pairwise: Tensor) -> Tensor:
    """Return the negative Bethe free energy (Mezard and Montanari 2009, chapter 14), ``batch``."""
    variables = _log_one_plus_exp(field).sum(-1)
    alone = _log_one_plus_exp(cavity)
    pairs = logsumexp(_pair_weights(cavity, pairwise), -1) - alone - alone.mT
    return variables - 0.5 * pairs.flatten(-2).sum(-1)


def _log_one_plus_exp(x: Tensor) -> Tensor:
    """Return log(1 + exp(x)) in full precision; ``softplus`` is inexact above its threshold."""
    return -torch.nn.functional.logsigmoid(-x)
