"""How a network reads a distribution over structures: which of them, with what weights and gradients.

The output of a network that reads a structure h is averaged over the structures of an item,

    sum over h of  p(h | x) f(h, x)

by one of these estimators. They differ in which h they look at, and in the gradient of the scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from strukt.checks import guards
from strukt.inference.settings import require_one_of
from strukt.structures.distribution import StructuredDistribution
from strukt.structures.surrogates import SURROGATES


class Selection(NamedTuple):
    """The structures that are looked at; those of all items in one list, the items in ascending order.

    Attributes:
        parts: ``(pairs, *parts)``, in the shape of the main scores of an item.
        weights: ``(pairs,)``; those of an item sum to 1.
        items: ``(pairs,)``, which item of the batch each belongs to.
        sampled: Whether they are samples, so that the gradient of their weights is a score function.
    """

    parts: Tensor
    weights: Tensor
    items: Tensor
    sampled: bool = False


class Estimator(ABC):
    """Selects structures of each item of a batch."""

    @abstractmethod
    def __call__(self, structures: Any) -> Selection:
        """The structures to look at.

        Args:
            structures: A `StructuredDistribution` with one batch axis; `Marginals` takes anything that has
                ``marginals``.

        Raises:
            InfeasibleError: If every structure of some item is forbidden; `Marginals` and `Relaxed` make its parts
                0 instead.
        """

    @property
    def in_prediction(self) -> Estimator:
        """What stands in its place in prediction: itself, unless it is random."""
        return self


@dataclass(frozen=True)
class SparseMAP(Estimator):
    """The structures to which SparseMAP gives a weight, in a differentiable sum (Niculae et al. 2018).

    Args:
        max_iterations: Bound on the calls of the mode oracle for an item, and so on the structures; None for an
            exact solution, which takes many calls for scores near 0, as those of new networks are.
        tol: The error in the marginals at which to stop.
    """

    max_iterations: int | None = 20
    tol: float = 1e-6

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        found = structures.sparsemap(self.max_iterations, self.tol)
        return _weighted(structures, found.events, found.weights)


@dataclass(frozen=True)
class SparseMarginals(SparseMAP):
    """One soft structure for each item: the mean of those to which SparseMAP gives a weight."""

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        return _one_each(structures.sparsemap(self.max_iterations, self.tol).marginals)


@dataclass(frozen=True)
class Marginals(Estimator):
    """One soft structure for each item, its marginals, in place of a sum over structures."""

    @override
    def __call__(self, structures: Any) -> Selection:
        return _one_each(structures.marginals)


@dataclass(frozen=True)
class Argmax(Estimator):
    """The best structure alone, with a surrogate of its gradient: see `StructuredDistribution.mode_parts`.

    Args:
        gradient: ``"straight-through"``, ``"spigot"`` or ``"perceptron"``.
        step: How far the last two move the structure against the gradient.
    """

    gradient: str = "straight-through"
    step: float = 1.0

    def __post_init__(self) -> None:
        require_one_of("gradient", self.gradient, SURROGATES)
        if not self.step > 0:
            raise ValueError(f"step is {self.step}; expected a positive number")

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        return _one_each(structures.mode_parts(self.gradient, self.step))


@dataclass(frozen=True)
class TopK(Estimator):
    """The k best structures, with their probabilities scaled to a sum of 1.

    Args:
        k: How many.
    """

    k: int = 5

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        scores, events = structures.topk(self.k)
        guards.require_feasible(events, scores[:, 0])
        return _weighted(structures, events, scores.softmax(-1))


@dataclass(frozen=True)
class Sample(Estimator):
    """Exact samples, with the gradient of the score function (REINFORCE); in prediction the best structure.

    Each sample's control variate is the mean of the others of its item (Kool et al. 2019), see `Mixture.expected`.

    Args:
        count: How many samples for each item; at least 2.
    """

    count: int = 4

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(
                f"count is {self.count}; expected at least 2: the others are the control variate of each"
            )

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        with torch.no_grad():
            events = structures.sample((self.count,))
        log_probs = structures.log_prob(events).movedim(0, -1)
        weights = (1.0 + log_probs - log_probs.detach()) / self.count
        return _weighted(structures, events.movedim(0, 1), weights)._replace(sampled=True)

    @property
    @override
    def in_prediction(self) -> Estimator:
        return Argmax()


@dataclass(frozen=True)
class Relaxed(Estimator):
    """A relaxed sample: marginals under Gumbel noise (Paulus et al. 2020); in prediction the marginals.

    Args:
        temperature: Towards 0 the sample becomes a structure.
    """

    temperature: float = 1.0

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        return _one_each(structures.rsample_relaxed(self.temperature))

    @property
    @override
    def in_prediction(self) -> Estimator:
        return Marginals()


ESTIMATORS: Mapping[str, Estimator] = MappingProxyType(
    {
        "sparsemap": SparseMAP(),
        "marginals": Marginals(),
        "sparse-marginals": SparseMarginals(),
        "argmax": Argmax("straight-through"),
        "spigot": Argmax("spigot"),
        "perceptron": Argmax("perceptron"),
        "sample": Sample(),
        "relaxed": Relaxed(),
        "topk": TopK(),
    }
)
"""The estimators by name, with their default settings."""


def _one_each(parts: Tensor) -> Selection:
    """One structure for each item, of weight 1."""
    return Selection(parts, parts.new_ones(len(parts)), torch.arange(len(parts), device=parts.device))


def _weighted(structures: StructuredDistribution, events: Tensor, weights: Tensor) -> Selection:
    """Events ``(batch, k, *event)`` of positive weight ``(batch, k)``."""
    used = weights > 0
    named = torch.where(used.reshape(*used.shape, *(1,) * (events.dim() - 2)), events, events[:, :1])
    parts = structures.to_parts(named.movedim(1, 0)).movedim(0, 1)
    return Selection(parts[used].to(weights.dtype), weights[used], used.nonzero()[:, 0])
