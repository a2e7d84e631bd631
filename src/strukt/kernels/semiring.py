"""Semirings: the sum and product by which one recursion computes each operator.

The last axes of a semiring value are those of the scores. A semiring may add an axis in front, for the k best
scores, or for a log-weight and an entropy. Recursions therefore index from the right only, and the same lines
compute a log-partition, a best score, the k best, a sample or an entropy.

Everything here is differentiable any number of times and safe at -inf: a forbidden part has weight zero, gradient
zero and second derivative zero, and no derivative is NaN.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

import torch
from torch import Tensor

NEG_INF = float("-inf")


def forbidden_only(scores: Tensor) -> Tensor:
    """Return -inf for forbidden parts and 0 for all others; without a gradient.

    Examples:
        >>> forbidden_only(torch.tensor([2.0, -torch.inf]))
        tensor([0., -inf])
    """
    return torch.where(scores == NEG_INF, NEG_INF, torch.zeros_like(scores))


def finite(scores: Tensor) -> Tensor:
    """Replace -inf by 0, with gradient 0.

    Examples:
        >>> finite(torch.tensor([2.0, -torch.inf]))
        tensor([2., 0.])
    """
    return torch.where(scores == NEG_INF, 0.0, scores)


def precise(score: Tensor) -> Tensor:
    """Return scores in float64; unchanged on Apple's GPUs (device ``mps``), which lack float64."""
    return score if score.device.type == "mps" else score.double()


def precise_as_stored(score: Tensor) -> Tensor:
    """Return `precise` scores whose expanded axes stay expanded, as kernels expect that look at the strides."""
    stored = score[tuple(slice(0, 1 if step == 0 else None) for step in score.stride())]
    return precise(stored).expand(score.shape)


def constant_at_infinity(value: Tensor) -> Tensor:
    """Return a value that has no derivative where it is +inf, so that derivatives of other items stay finite.

    Examples:
        >>> x = torch.tensor([1.0, torch.inf], requires_grad=True)
        >>> torch.autograd.grad(constant_at_infinity(2 * x).sum(), x)
        (tensor([2., 0.]),)
    """
    return torch.where(value == -NEG_INF, -NEG_INF, value)


def constant_at_zero(value: Tensor) -> Tensor:
    """Return a value of 0 or more that has no derivative where it is 0, its minimum.

    Examples:
        >>> x = torch.tensor([1.0, 0.0], requires_grad=True)
        >>> torch.autograd.grad(constant_at_zero(2 * x).sum(), x)
        (tensor([2., 0.]),)
    """
    return torch.where(value == 0, 0.0, value)


def logsumexp(x: Tensor, dim: int) -> Tensor:
    """Return the log of the sum of exponentials over ``dim``; some or all entries may be -inf.

    ``torch.logsumexp`` has NaN gradients when every entry is -inf, and ``torch.logaddexp`` has NaN second
    derivatives. Here the maximum is subtracted as a constant, and no derivative is NaN.

    Examples:
        >>> x = torch.full((2, 3), NEG_INF, requires_grad=True)
        >>> logsumexp(x, -1)
        tensor([-inf, -inf], grad_fn=<SqueezeBackward1>)
        >>> torch.autograd.grad(logsumexp(x, -1).sum(), x)[0].sum()
        tensor(0.)
    """
    _, log_total, top = _shifted(x, dim)
    return (log_total + top).squeeze(dim)


def log_softmax(x: Tensor, dim: int) -> Tensor:
    """Return log-probabilities over ``dim``; rows of only -inf stay -inf.

    The log-probability of the largest entry is computed from the others, so that it is accurate even close to 0.

    Examples:
        >>> log_softmax(torch.tensor([0.0, -50.0]), -1)
        tensor([-1.9287e-22, -5.0000e+01])
    """
    place = x.detach().argmax(dim, keepdim=True)
    shifted = x - finite(x.detach().gather(dim, place))
    others = shifted.exp().scatter(dim, place, 0.0).sum(dim, keepdim=True)
    rest = others + torch.expm1(shifted.gather(dim, place))  # the second term is 0, but has a derivative
    return shifted - torch.where(rest > -1.0, rest, torch.zeros_like(rest)).log1p()


def _shifted(x: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores minus their maximum, the log of their summed exponentials, and the maximum (0 for -inf)."""
    top = finite(x.detach().amax(dim, keepdim=True))
    shifted = x - top
    total = shifted.exp().sum(dim, keepdim=True)
    some = total > 0
    return shifted, torch.where(some, torch.where(some, total, torch.ones_like(total)).log(), NEG_INF), top


class Semiring(abc.ABC):
    """The base class of semirings: a sum, a product, and the neutral element of the product.

    A subclass implements `sum`. The other methods are those of plain log-weights, whose product is ``+``. A
    subclass whose values have an axis in front of those of the scores also overrides `one`, and others as needed.
    """

    @abc.abstractmethod
    def sum(self, values: Tensor, dim: int) -> Tensor:
        """Return the semiring's sum of ``values``, in their shape without the axis ``dim``, a negative number."""

    def one(self, scores: Tensor) -> Tensor:
        """Return the neutral element of the product, in the shape of ``scores`` with the axis in front, if any."""
        return torch.zeros_like(scores)

    def times(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the semiring's product of ``left`` and ``right``, in the shape to which both broadcast."""
        return left + right

    def weigh(self, values: Tensor, scores: Tensor) -> Tensor:
        """Return ``values`` times the weights ``exp(scores)``, in the shape to which both broadcast."""
        return values + scores

    def lower(self, values: Tensor) -> Tensor:
        """Return the operator's result from the total ``values``, in their shape without the axis in front."""
        return values

    def stack(self, values: Sequence[Tensor]) -> Tensor:
        """Return values of equal shape stacked along a new last axis."""
        return torch.stack(list(values), -1)


class Log(Semiring):
    """Sum-product over log-weights: the total is the log-partition.

    Examples:
        >>> Log().sum(torch.tensor([1.0, 3.0]).log(), -1).exp()
        tensor(4.)
    """

    def sum(self, values: Tensor, dim: int) -> Tensor:
        return logsumexp(values, dim)


class Counting(Log):
    """Sum-product with weight 1 for every permitted part: the total is the log of the number of structures.

    Examples:
        >>> Counting().weigh(torch.zeros(2), torch.tensor([5.0, -torch.inf])).exp()
        tensor([1., 0.])
    """

    def weigh(self, values: Tensor, scores: Tensor) -> Tensor:
        return values + forbidden_only(scores)


class Max(Semiring):
    """Max-plus (Viterbi): the total is the best score, its gradient the parts of one best structure.

    Examples:
        >>> Max().sum(torch.tensor([1.0, 3.0]), -1)
        tensor(3.)
    """

    def sum(self, values: Tensor, dim: int) -> Tensor:
        return values.max(dim).values


class KMax(Semiring):
    """K-best max-plus: values hold the k best scores, descending, on a leading axis; -inf if there are fewer.

    Args:
        k: The number of scores, 1 or more.

    Examples:
        >>> ring, scores = KMax(2), torch.tensor([1.0, 3.0, 2.0])
        >>> ring.sum(ring.weigh(ring.one(scores), scores), -1)
        tensor([3., 2.])
    """

    def __init__(self, k: int) -> None:
        self.k = k

    def one(self, scores: Tensor) -> Tensor:
        rest = scores.new_full((self.k - 1, *scores.shape), NEG_INF)
        return torch.cat([torch.zeros_like(scores).unsqueeze(0), rest])

    def sum(self, values: Tensor, dim: int) -> Tensor:
        return self._best(values.movedim(dim, 1).flatten(0, 1))

    def times(self, left: Tensor, right: Tensor) -> Tensor:
        return self._best((left.unsqueeze(0) + right.unsqueeze(1)).flatten(0, 1))

    def _best(self, values: Tensor) -> Tensor:
        """Return the k best values along the first axis, descending."""
        return values.topk(self.k, dim=0).values


class Sampling(Semiring):
    """Sum-product over log-weights: the total is the log-partition, its gradient the parts of one exact sample.

    Each sum draws one of its terms, by PyTorch's generator, with the probability that it has in the sum. The draws
    are independent, so the gradient, which follows the drawn terms from the total downwards, is a structure with
    its exact probability (forward filtering, backward sampling).

    Examples:
        >>> scores = torch.tensor([-torch.inf, 0.5], requires_grad=True)
        >>> torch.autograd.grad(Sampling().sum(scores, -1), scores)  # the second is the only choice
        (tensor([0., 1.]),)
    """

    def sum(self, values: Tensor, dim: int) -> Tensor:
        total = logsumexp(values.detach(), dim)
        noise = -torch.empty_like(values).exponential_().log()
        drawn = (values.detach() + noise).argmax(dim, keepdim=True)
        term = values.gather(dim, drawn).squeeze(dim)
        possible = total > NEG_INF
        shift = torch.where(possible, total - term.detach(), torch.zeros_like(total))
        return term + shift


class Entropy(Semiring):
    """Pairs of a log-weight and an entropy in nats (an expectation semiring, Hwa 2000; Li and Eisner 2009).

    The entropy of a choice is that of its alternatives plus the expected entropy inside them. All terms of this
    sum are non-negative, so nothing cancels, for scores of any size.

    Examples:
        >>> ring = Entropy()
        >>> ring.lower(ring.sum(ring.one(torch.zeros(4)), -1))  # log 4
        tensor(1.3863)
    """

    def one(self, scores: Tensor) -> Tensor:
        return torch.zeros_like(scores).expand(2, *scores.shape)

    def sum(self, values: Tensor, dim: int) -> Tensor:
        weights, entropies = values.unbind(0)
        log_probability = log_softmax(weights, dim)
        inner = log_probability.exp() * (entropies - finite(log_probability))
        return torch.stack([logsumexp(weights, dim), inner.sum(dim)])

    def weigh(self, values: Tensor, scores: Tensor) -> Tensor:
        weights, entropies = values.unbind(0)
        weights = weights + scores
        return torch.stack([weights, entropies.expand_as(weights)])

    def lower(self, values: Tensor) -> Tensor:
        return values[1]


class CrossEntropy(Semiring):
    """Triples: log-weights under p and under q, and the cross-entropy -E_p[log q] in nats, which may be infinite.

    `one` and `weigh` take scores ``(2, ...)``: those of p, then those of q.

    Examples:
        >>> ring, scores = CrossEntropy(), torch.tensor([[0.5, 0.5], [0.75, 0.25]]).log()
        >>> ring.lower(ring.sum(ring.weigh(ring.one(scores), scores), -1))  # -(log 0.75 + log 0.25) / 2
        tensor(0.8370)
    """

    def one(self, scores: Tensor) -> Tensor:
        return torch.zeros_like(scores[0]).expand(3, *scores.shape[1:])

    def sum(self, values: Tensor, dim: int) -> Tensor:
        p, q, crosses = values.unbind(0)
        log_p, log_q = log_softmax(p, dim), log_softmax(q, dim)
        possible = log_p > NEG_INF
        inner = torch.where(possible, crosses - log_q, torch.zeros_like(log_q))
        infinite = inner == -NEG_INF  # infinite even if the probability underflows
        expected = torch.where(infinite, inner, log_p.exp() * torch.where(infinite, 0.0, inner))
        return torch.stack([logsumexp(p, dim), logsumexp(q, dim), expected.sum(dim)])

    def weigh(self, values: Tensor, scores: Tensor) -> Tensor:
        p, q, crosses = values.unbind(0)
        p, q = p + scores[0], q + scores[1]
        return torch.stack([p, q, crosses.expand_as(p)])

    def lower(self, values: Tensor) -> Tensor:
        return values[2]
