"""Networks with a latent structure h as hidden layer: p(y | x) = sum over structures h of p(y | h, x) p(h | x)."""

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
    """The outputs of a network for several structures of each item, with the weights to average them.

    Attributes:
        outputs: The output for each pair of an item and a structure: a tensor ``(pairs, ...)``, or a tuple of
            such tensors.
        weights: ``(pairs,)``, the weights of the structures; they sum to 1 for each item.
        items: ``(pairs,)``, the index of the item of each pair.
        parts: ``(pairs, *parts)``, the structures, as 0/1 or soft indicators of their parts; ``(pairs, 0)`` from
            `of_one`.
        structures: The result of the scorer: a distribution, or an object with ``marginals``; None from `of_one`.
        batch: Number of items.
        sampled: Whether the structures are exact samples, as from the estimator `Sample`.
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
        """Wrap outputs ``(batch, ...)`` of a network that reads no structure: one output for each item."""
        batch = len(outputs)
        items = torch.arange(batch, device=outputs.device)
        return cls(outputs, outputs.new_ones(batch), items, outputs.new_empty(batch, 0), None, batch, False)

    @property
    def counts(self) -> Tensor:
        """The number of structures of each item: ``(batch,)``."""
        return torch.bincount(self.items, minlength=self.batch)

    def expected(self, values: Tensor) -> Tensor:
        """Return the weighted mean over the structures of each item, differentiable in values and weights.

        For samples, the gradient of the weights is the score-function estimator (REINFORCE). The baseline of a
        sample is the mean of the values of the other samples of its item; the estimate stays unbiased.

        Args:
            values: ``(pairs, ...)``. A value of -inf makes the mean -inf, without a gradient.

        Returns:
            ``(batch, ...)``.

        Raises:
            ValueError: If `values` does not have one row for each pair.
        """
        self._require_paired(values)
        infinite = values == -torch.inf
        values = values.masked_fill(infinite, 0)
        weights = _beside(self.weights, values)
        total = self._summed(weights * values)
        if self.sampled:
            # The weight of a sample has the value 1 / count, and the gradient of log_prob / count.
            fixed = values.detach()
            count = _beside(self.counts[self.items], values)
            others = (self._summed(fixed)[self.items] - fixed) / (count - 1)
            total = total - self._summed((weights - weights.detach()) * others)
        return total.masked_fill(self._summed(infinite.to(total.dtype)) > 0, -torch.inf)

    def log_likelihood(self, log_probs: Tensor) -> Tensor:
        """Return the log of the weighted mean probability; for samples a lower bound, the mean log-probability.

        Args:
            log_probs: log p(y | h, x) of each pair ``(pairs, ...)``.

        Returns:
            log p(y | x), ``(batch, ...)``, or for samples the bound. -inf, without a gradient, if `log_probs` is
            -inf for all structures of an item; for samples, if it is -inf for any of them.

        Raises:
            ValueError: If `log_probs` does not have one row for each pair.
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
            description = (
                f"shape {tuple(values.shape)}"
                if isinstance(values, Tensor)
                else f"type {type(values).__name__}"
            )
            raise ValueError(
                f"values are of {description}; expected a tensor ({pairs}, ...), a row for each pair of an item "
                "and a structure, such as one of the outputs"
            )

    def _summed(self, values: Tensor) -> Tensor:
        return values.new_zeros(self.batch, *values.shape[1:]).index_add(0, self.items, values)


class LatentStructure(nn.Module):
    """A network with a latent structure as hidden layer: a scorer, an estimator, and a network that reads parts.

    Args:
        downstream: ``downstream(parts, *inputs)`` reads structures. The parts ``(pairs, *parts)`` and all tensors
            among the inputs have one row for each pair of an item and a structure. Returns a tensor
            ``(pairs, ...)`` or a tuple of such tensors.
        scorer: ``scorer(*inputs)`` returns a `StructuredDistribution` with one batch axis; for the estimator
            ``"marginals"``, any object with ``marginals``, such as the result of `FactorGraph.lp_sparsemap`.
        estimator: Selects the structures to read and defines the gradient of the scorer: one of
            `strukt.nn.estimators`, or its name. ``"sparsemap"`` sums over the few structures of the SparseMAP
            solution, ``"topk"`` over the k best; ``"argmax"``, ``"spigot"`` and ``"perceptron"`` read the best one
            and have surrogate gradients; ``"sample"`` and ``"relaxed"`` read samples during training;
            ``"marginals"`` and ``"sparse-marginals"`` read one soft structure.

    A call takes the inputs, with the items of the batch along the first axis of each, and returns a `Mixture`.
    Source: Niculae, Martins and Cardie (2018), "Towards dynamic computation graphs via sparse latent structure",
    equation 2.

    Raises:
        ValueError: If the estimator is neither an `Estimator` nor a known name.

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
        if not isinstance(estimator, (str, Estimator)):
            raise ValueError(
                f"estimator is {estimator!r}; expected a name, or an estimator of strukt.nn.estimators"
            )
        self.downstream = downstream
        self.scorer = scorer
        self.estimator = ESTIMATORS[estimator] if isinstance(estimator, str) else estimator

    def forward(self, *inputs: Any) -> Mixture:
        """Run the network on the selected structures of each item.

        Args:
            inputs: The inputs of the scorer and the network; at least one tensor with the items on its first axis.

        Returns:
            The outputs for each pair of an item and a structure, with the weights of the structures.

        Raises:
            ValueError: If no input is a tensor, or the tensors differ in the size of their first axis; or if the
                scorer returns a distribution of another batch shape, or an object with only marginals although the
                estimator needs more.
        """
        batch = _batch(inputs)
        structures = self.scorer(*inputs)
        batch_shape = tuple(getattr(structures, "batch_shape", (batch,)))
        if batch_shape != (batch,):
            raise ValueError(
                f"scorer returned structures of batch shape {batch_shape}; expected {(batch,)}, one for each "
                "input row"
            )
        estimator = self.estimator if self.training else self.estimator.in_prediction
        if not isinstance(structures, StructuredDistribution) and not isinstance(estimator, Marginals):
            raise ValueError(
                f"scorer returned a {type(structures).__name__}, which has only marginals; "
                "use estimator 'marginals'"
            )
        parts, weights, items, sampled = estimator(structures)
        paired = [part.index_select(0, items) if _is_batched(part) else part for part in inputs]
        outputs = self.downstream(parts, *paired)
        return Mixture(outputs, weights, items, parts, structures, batch, sampled)


def _batch(inputs: tuple[Any, ...]) -> int:
    sizes = [len(part) for part in inputs if _is_batched(part)]
    if not sizes:
        raise ValueError(
            "inputs has no tensor; expected at least one, with the items of the batch along the first axis"
        )
    if len(set(sizes)) > 1:
        raise ValueError(f"inputs has tensors of {sizes} rows; expected one row for each item of the batch")
    return sizes[0]


def _is_batched(part: Any) -> bool:
    return isinstance(part, Tensor) and part.dim() > 0


def _beside(vector: Tensor, values: Tensor) -> Tensor:
    """Reshape a vector to broadcast over all axes of values except the first."""
    return vector.reshape(-1, *(1,) * (values.dim() - 1))
