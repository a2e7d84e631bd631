"""A network whose hidden layer is a structure: p(y | x) = sum over structures h of p(y | h, x) p(h | x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from strukt.nn.estimators import ESTIMATORS, Estimator, Marginals
from strukt.structures.distribution import StructuredDistribution


@dataclass(frozen=True)
class Mixture:
    """What a network makes of each of some structures, to be averaged over those of an item.

    Attributes:
        outputs: What it makes of each pair of an item and a structure: a tensor ``(pairs, ...)``, or a tuple of
            such.
        weights: ``(pairs,)``, of the structures; those of an item sum to 1.
        items: ``(pairs,)``, which item each pair belongs to.
        parts: ``(pairs, *parts)``, the structures.
        structures: What the scorer gave, to ask for more.
        batch: Number of items.
        sampled: Whether the structures are samples.
    """

    outputs: Any
    weights: Tensor
    items: Tensor
    parts: Tensor
    structures: Any
    batch: int
    sampled: bool

    @classmethod
    def of_one(cls, outputs: Tensor) -> Mixture:
        """What a network makes of each item without any structure: ``(batch, ...)``."""
        batch = len(outputs)
        items = torch.arange(batch, device=outputs.device)
        return cls(outputs, outputs.new_ones(batch), items, outputs.new_empty(batch, 0), None, batch, False)

    @property
    def counts(self) -> Tensor:
        """How many structures each item looks at: ``(batch,)``."""
        return torch.bincount(self.items, minlength=self.batch)

    def expected(self, values: Tensor) -> Tensor:
        """The mean over the structures of each item, differentiable in values and weights.

        The gradient of the weights of samples is a score function: that of each is reduced by the mean of the
        values of its item's other samples, which leaves it unbiased.

        Args:
            values: ``(pairs, ...)``. What is -inf makes the mean -inf, without a gradient.

        Returns:
            ``(batch, ...)``.

        Raises:
            ValueError: If there is not one value for each pair.
        """
        self._require_paired(values)
        infinite = values == -torch.inf
        values = values.masked_fill(infinite, 0)
        weights = _beside(self.weights, values)
        total = self._summed(weights * values)
        if self.sampled:
            # A sample's weight has the value 1 / count and the gradient of its log-probability / count.
            fixed = values.detach()
            count = _beside(self.counts[self.items], values)
            others = (self._summed(fixed)[self.items] - fixed) / (count - 1)
            total = total - self._summed((weights - weights.detach()) * others)
        return total.masked_fill(self._summed(infinite.to(total.dtype)) > 0, -torch.inf)

    def log_likelihood(self, log_probs: Tensor) -> Tensor:
        """The log of the mean of probabilities; for samples its lower bound, the mean of their logs.

        Args:
            log_probs: log p(y | h, x) of each pair ``(pairs, ...)``.

        Returns:
            log p(y | x), ``(batch, ...)``; -inf, without a gradient, where all structures have that.

        Raises:
            ValueError: If there is not one value for each pair.
        """
        self._require_paired(log_probs)
        if self.sampled:
            return self.expected(log_probs)
        shape = (self.batch, *log_probs.shape[1:])
        items = _beside(self.items, log_probs).expand_as(log_probs)
        highest = (
            log_probs.detach()
            .new_full(shape, -torch.inf)
            .scatter_reduce(0, items, log_probs.detach(), "amax")
        )
        impossible = highest == -torch.inf
        highest = highest.masked_fill(impossible, 0.0)
        share = self.expected((log_probs - highest[self.items]).exp())
        return share.masked_fill(impossible, 1.0).log().masked_fill(impossible, -torch.inf) + highest

    def _require_paired(self, values: Any) -> None:
        pairs = len(self.items)
        if not isinstance(values, Tensor) or values.dim() < 1 or len(values) != pairs:
            given = (
                f"shape {tuple(values.shape)}"
                if isinstance(values, Tensor)
                else f"type {type(values).__name__}"
            )
            raise ValueError(
                f"values are of {given}; expected a tensor ({pairs}, ...), a row for each pair of an item and a "
                "structure, such as one of the outputs"
            )

    def _summed(self, values: Tensor) -> Tensor:
        return values.new_zeros(self.batch, *values.shape[1:]).index_add(0, self.items, values)


class LatentStructure(nn.Module):
    """A network that reads latent structures.

    Args:
        downstream: ``downstream(parts, *inputs)`` reads structures: one row for each pair of an item and a
            structure in parts ``(pairs, *parts)`` and in all tensors of the inputs. It gives a tensor
            ``(pairs, ...)`` or a tuple of such.
        scorer: ``scorer(*inputs)`` gives a `StructuredDistribution` with one batch axis; for the estimator
            ``"marginals"`` anything that has ``marginals``, such as the result of `FactorGraph.lp_sparsemap`.
        estimator: Which structures are read, and how gradients come back to the scorer: one of
            `strukt.nn.estimators`, or its name. ``"sparsemap"`` sums over the few structures of the SparseMAP
            solution, ``"topk"`` over the k best; ``"argmax"``, ``"spigot"`` and ``"perceptron"`` read the best one
            and have surrogate gradients; ``"sample"`` and ``"relaxed"`` read samples while training;
            ``"marginals"`` reads one soft structure.

    Called with the inputs, all with the items of a batch as first axis, it gives a `Mixture`. Source: Niculae,
    Martins and Cardie (2018), "Towards dynamic computation graphs via sparse latent structure", equation 2.

    Raises:
        ValueError: If there is no such estimator, if the structures are not one for each row of the inputs, or if
            they cannot be enumerated as the estimator wants.

    Examples:
        >>> from strukt.distributions import KSubset
        >>> scores = torch.tensor([[2.0, 1.5, -1.0], [0.0, 0.0, 3.0]], requires_grad=True)
        >>> words = torch.tensor([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])
        >>> chosen_sum = lambda parts, _, words: (parts * words).sum(-1)
        >>> latent = LatentStructure(chosen_sum, lambda scores, _: KSubset(scores, 1), "sparsemap")
        >>> mixture = latent(scores, words)
        >>> mixture.counts, mixture.expected(mixture.outputs).detach()
        (tensor([2, 1]), tensor([1.2500, 4.0000]))
    """

    def __init__(
        self,
        downstream: Callable[..., Any],
        scorer: Callable[..., Any],
        estimator: str | Estimator = "sparsemap",
    ) -> None:
        super().__init__()
        if isinstance(estimator, str) and estimator not in ESTIMATORS:
            raise ValueError(f"estimator is {estimator!r}; expected one of {', '.join(ESTIMATORS)}")
        if not isinstance(estimator, str | Estimator):
            raise ValueError(
                f"estimator is {estimator!r}; expected a name, or an object of strukt.nn.estimators"
            )
        self.downstream = downstream
        self.scorer = scorer
        self.estimator = ESTIMATORS[estimator] if isinstance(estimator, str) else estimator

    def forward(self, *inputs: Any) -> Mixture:
        """Reads the structures of each item."""
        structures = self.scorer(*inputs)
        batch = _batch(inputs)
        found = tuple(getattr(structures, "batch_shape", (batch,)))
        if found != (batch,):
            raise ValueError(
                f"scorer gave structures of batch shape {found}; expected {(batch,)}, one for each row of inputs"
            )
        estimator = self.estimator if self.training else self.estimator.in_prediction
        if not isinstance(structures, StructuredDistribution) and not isinstance(estimator, Marginals):
            raise ValueError(
                f"scorer gave a {type(structures).__name__}, which has marginals alone; take estimator 'marginals'"
            )
        parts, weights, items, sampled = estimator(structures)
        paired = [part.index_select(0, items) if _is_batched(part) else part for part in inputs]
        outputs = self.downstream(parts, *paired)
        return Mixture(outputs, weights, items, parts, structures, batch, sampled)


def _batch(inputs: tuple[Any, ...]) -> int:
    sizes = [len(part) for part in inputs if _is_batched(part)]
    if not sizes:
        raise ValueError(
            "inputs has no tensor; expected at least one, with the items of the batch as first axis"
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            f"inputs has tensors of {sizes} rows; expected the items of the batch as first axis of each"
        )
    return sizes[0]


def _is_batched(part: Any) -> bool:
    return isinstance(part, Tensor) and part.dim() > 0


def _beside(vector: Tensor, values: Tensor) -> Tensor:
    """A vector that broadcasts over all axes of values but the first."""
    return vector.reshape(-1, *(1,) * (values.dim() - 1))
