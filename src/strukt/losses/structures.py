"""Fenchel-Young losses of structures: CRF, SparseMAP, structured perceptron and structured hinge (SVM)."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.kernels.semiring import NEG_INF
from strukt.structures.distribution import StructuredDistribution

REGULARIZERS = ("entropy", "sparsemap", None)

ROUNDING = 1e-4
"""The absolute rounding error by which a marginal may be below 0."""


def fenchel_young_loss(
    distribution: StructuredDistribution,
    target: Tensor,
    regularizer: str | None = "entropy",
    cost: str | Tensor | None = None,
    max_iterations: int | None = None,
) -> Tensor:
    """Return the Fenchel-Young loss of a distribution for a target structure y (Blondel et al. 2020).

        max over mu of (<scores, mu> - Omega(mu)) + Omega(y) - <scores, y>

    The maximum is over the marginals mu of all distributions over structures. Omega is the negative entropy,
    ``||mu||^2 / 2`` or 0, by the rows of the table:

    | regularizer | loss | gradient with respect to the scores |
    |---|---|---|
    | ``"entropy"`` | CRF: ``-log_prob(target)`` | marginals minus target |
    | ``"sparsemap"`` | SparseMAP (Niculae et al. 2018, equation 11) | sparse marginals minus target |
    | None | structured perceptron; with a cost, structured hinge (SVM) | mode minus target |

    Args:
        distribution: The predicted distribution, of any structure that supports the regulariser.
        target: Events ``batch + event_shape``; or marginals, as a floating-point tensor in the shape of the main
            scores, ``distribution.scores[0]``; padding is ignored. With marginals, all other scores must be 0;
            the entropy then omits the constant Omega(y).
        regularizer: The name of Omega in the table above; None for Omega = 0.
        cost: The cost of each part, which is added to its score: a tensor that broadcasts to the main scores, or
            ``"hamming"`` for 1 on each part that is not in the target; None for no cost.
        max_iterations: Maximum number of calls of the mode oracle for SparseMAP; by default, as for the method
            ``sparsemap``. If it stops early, the loss can only be too low, as the maximum is over the structures
            seen so far.

    Returns:
        ``batch``, 0 or more; infinite if the target is forbidden. Differentiable as often as the regularised
        marginals.

    Raises:
        ValueError: If the target or the cost does not fit, or the regularizer is unknown. With ``validate_args``
            of the distribution also if a cost is NaN or +inf, a marginal is NaN, negative or infinite, or one of
            the other scores must be 0 and is not.
        NotImplementedError: If the structure does not support the regulariser.
        InfeasibleError: With ``"sparsemap"``, if every structure of some item is forbidden.

    Warns:
        UserWarning: With ``"sparsemap"``, if ``max_iterations`` is None and some item did not converge.

    Complexity: One log-partition for ``"entropy"``, one mode for None, and up to ``max_iterations`` modes for
    ``"sparsemap"``.

    Examples:
        >>> from strukt.distributions import LinearChain
        >>> unary = torch.tensor([[2.0, 0.0], [0.0, 1.5]], requires_grad=True)
        >>> chain = LinearChain(unary, torch.zeros(2, 2))
        >>> tags = torch.tensor([0, 1])
        >>> fenchel_young_loss(chain, tags), -chain.log_prob(tags)
        (tensor(0.3283, grad_fn=<NegBackward0>), tensor(0.3283, grad_fn=<NegBackward0>))
        >>> fenchel_young_loss(chain, tags, "sparsemap"), fenchel_young_loss(chain, tags, None, cost="hamming")
        (tensor(0., grad_fn=<ClampBackward1>), tensor(0., grad_fn=<ClampBackward1>))
    """
    if regularizer not in REGULARIZERS:
        raise ValueError(f"regularizer is {regularizer!r}; expected 'entropy', 'sparsemap' or None")
    soft = isinstance(target, Tensor) and target.is_floating_point()
    if soft:
        parts = _marginals(distribution, target)
    else:
        parts = distribution.to_parts(arguments.event(target, distribution.batch_shape, distribution.event_shape))
    raised = distribution if cost is None else _raised(distribution, parts, cost)
    if regularizer == "entropy" and not soft:
        return -raised.log_prob(target)
    target_score = _linear(raised, parts) if soft else raised.score(target)
    if regularizer == "entropy":
        return _excess(raised.log_partition, target_score)
    if regularizer is None:
        return _excess(raised.max_score, target_score).clamp(min=0.0)
    return (_sparse_value(raised, max_iterations) - (target_score - _half_square(raised, parts))).clamp(min=0.0)


def _excess(most: Tensor, target_score: Tensor) -> Tensor:
    """Return the regularised maximum ``most`` minus the target's score; +inf, not NaN, if ``most`` is -inf."""
    return (most - target_score).masked_fill(most == NEG_INF, torch.inf)


def _marginals(distribution: StructuredDistribution, target: Tensor) -> Tensor:
    """Check marginals as a target, and return them with 0 in padding."""
    axes = len(distribution.batch_shape)
    if distribution._validate_args:
        named, others = distribution.score_names, distribution.scores[1:]
        expected = f"0, as the target holds marginals of {named[0]} alone; else give events"
        for name, other in zip(named[1:], others, strict=False):
            guards.require_values(other.detach(), other == 0, name, expected, axes)
    if target.shape != distribution.scores[0].shape:
        raise ValueError(
            f"target has shape {tuple(target.shape)}; expected events, or marginals in the shape of the scores, "
            f"{tuple(distribution.scores[0].shape)}"
        )
    target = target.masked_fill(~distribution._main_within(), 0.0)
    if distribution._validate_args:
        valid = (target >= -ROUNDING) & (target < torch.inf)
        guards.require_values(target.detach(), valid, "target", "marginals, finite numbers of 0 or more", axes)
    return target


def _raised(
    distribution: StructuredDistribution, parts: Tensor, cost: str | Tensor
) -> StructuredDistribution:
    """Return the distribution with the cost of each part added to its score."""
    main, *others = distribution.scores
    axes = main.dim() - len(distribution.batch_shape)
    if isinstance(cost, str):
        if cost != "hamming":
            raise ValueError(
                f"cost is {cost!r}; expected 'hamming', a tensor with the cost of each part, or None"
            )
        batch = arguments.broadcast_shapes(parts.shape[: parts.dim() - axes], distribution.batch_shape)
        if batch != distribution.batch_shape:
            return _raised(distribution.expand(batch), parts, cost)
        return distribution._with_scores(main + (1.0 - parts.to(main.dtype)), *others)
    arguments.fitting("cost", cost, main.shape)
    if distribution._validate_args:
        valid = (cost < torch.inf) | ~distribution._main_within()
        axes = len(distribution.batch_shape)
        guards.require_values(cost.detach().expand(main.shape), valid.expand(main.shape), "cost", "numbers", axes)
    return distribution._with_scores(main + cost, *others)


def _linear(distribution: StructuredDistribution, parts: Tensor) -> Tensor:
    """Return the expected score ``(batch,)`` under marginals; -inf if a forbidden part has a positive one."""
    main = distribution.scores[0]
    terms = torch.where(parts == 0, 0.0, main * parts)
    return terms.flatten(len(distribution.batch_shape)).sum(-1)


def _half_square(distribution: StructuredDistribution, parts: Tensor) -> Tensor:
    return 0.5 * parts.square().flatten(len(distribution.batch_shape)).sum(-1)


def _sparse_value(distribution: StructuredDistribution, max_iterations: int | None) -> Tensor:
    """Return the SparseMAP value ``(batch,)``: the maximum of expected score minus half the squared norm."""
    result = distribution.sparsemap(max_iterations)
    axis = len(distribution.batch_shape)
    named = (result.events >= 0).flatten(axis + 1).any(-1)
    used = named | (result.weights > 0)  # tied structures of weight 0 determine the derivative
    shape = (*used.shape, *(1,) * len(distribution.event_shape))
    events = torch.where(used.reshape(shape), result.events, result.events.narrow(axis, 0, 1))
    scores = distribution._score(events.movedim(axis, 0)).movedim(0, -1)
    expected = torch.where(used, result.weights * torch.where(used, scores, 0.0), 0.0).sum(-1)
    return expected - _half_square(distribution, result.marginals)
