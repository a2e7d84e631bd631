"""Estimators for latent structures: they select the structures that a network reads, with weights and gradients.

The output f(h, x) of a network that reads a structure h is averaged over the structures of an item,

    sum over h of  p(h | x) f(h, x)

by one of these estimators. They differ in the structures h that they select, and in the gradient of the scores.
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

from strukt.checks import arguments, guards
from strukt.inference.settings import require_one_of
from strukt.structures.distribution import StructuredDistribution
from strukt.structures.mode_parts import SURROGATES


class Selection(NamedTuple):
    """The selected structures of all items in one list of pairs (item, structure), in ascending order of items.

    Attributes:
        parts: ``(pairs, *parts)``, the structures as 0/1 or soft indicators of their parts, in the shape of the
            main scores of an item.
        weights: ``(pairs,)``; they sum to 1 for each item.
        items: ``(pairs,)``, the index of the batch item of each structure.
        sampled: Whether the structures are exact samples, as from `Sample`; the gradient of the weights is then
            the score-function estimator.
    """

    parts: Tensor
    weights: Tensor
    items: Tensor
    sampled: bool = False


class Estimator(ABC):
    """The base class of estimators: a callable that selects structures of each item of a batch.

    Subclasses implement `__call__`; random ones also override `in_prediction`.
    """

    @abstractmethod
    def __call__(self, structures: Any) -> Selection:
        """Select the structures to read.

        Args:
            structures: A `StructuredDistribution` with one batch axis; `Marginals` accepts any object with
                ``marginals``.

        Raises:
            InfeasibleError: If every structure of some item is forbidden; `Marginals` and `Relaxed` set the parts
                of this item to 0 instead.
            ValueError: If the structures do not have one batch axis, or ``max_iterations``, ``tol``, ``k`` or
                ``temperature`` is out of range; the constructors do not check these settings.
            NotImplementedError: If the structures cannot compute what the estimator needs, such as the
                log-probability of samples of a large `Matching`.
        """

    @property
    def in_prediction(self) -> Estimator:
        """The estimator to use in prediction: this one, or a deterministic replacement if it is random."""
        return self


@dataclass(frozen=True)
class SparseMAP(Estimator):
    """A differentiable sum over the support of the SparseMAP solution (Niculae et al. 2018).

    Args:
        max_iterations: Maximum number of calls of the mode (MAP) oracle for an item, and thus of structures; None
            for 1,000, with a warning if the error is still above `tol`. Many calls are needed if scores are near
            0, as in an untrained network.
        tol: Stop when the error of the marginals is at most this.

    Examples:
        >>> from strukt import KSubset
        >>> choices = KSubset(torch.tensor([[1.0, 0.5, -1.0]]), k=1)  # one of three
        >>> selection = SparseMAP()(choices)
        >>> selection.parts, selection.weights
        (tensor([[1., 0., 0.],
                [0., 1., 0.]]), tensor([0.7500, 0.2500]))
    """

    max_iterations: int | None = 20
    tol: float = 1e-6

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        result = structures.sparsemap(self.max_iterations, self.tol)
        return _weighted(structures, result.events, result.weights)


@dataclass(frozen=True)
class SparseMarginals(SparseMAP):
    """One soft structure for each item: the SparseMAP marginals, which are the weighted mean of the support.

    Arguments are those of `SparseMAP`.

    Examples:
        >>> from strukt import KSubset
        >>> choices = KSubset(torch.tensor([[1.0, 0.5, -1.0]]), k=1)  # one of three
        >>> SparseMarginals()(choices).parts
        tensor([[0.7500, 0.2500, 0.0000]])
    """

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        return _one_each(structures, structures.sparsemap(self.max_iterations, self.tol).marginals)


@dataclass(frozen=True)
class Marginals(Estimator):
    """One soft structure for each item: its marginals, instead of a sum over structures.

    Examples:
        >>> from strukt import KSubset
        >>> choices = KSubset(torch.tensor([[1.0, 0.5, -1.0]]), k=1)  # one of three
        >>> Marginals()(choices).parts
        tensor([[0.5741, 0.3482, 0.0777]])
    """

    @override
    def __call__(self, structures: Any) -> Selection:
        return _one_each(structures, structures.marginals)


@dataclass(frozen=True)
class Argmax(Estimator):
    """The best structure (MAP) with a surrogate gradient; see `StructuredDistribution.mode_parts`.

    Args:
        gradient: ``"straight-through"``, ``"spigot"`` or ``"perceptron"``.
        step: Size of the gradient step that ``"spigot"`` and ``"perceptron"`` take from the structure.

    Raises:
        ValueError: If the gradient is unknown, or the step is not above 0.

    Examples:
        >>> from strukt import KSubset
        >>> scores = torch.tensor([[1.0, 0.5, -1.0]], requires_grad=True)
        >>> parts = Argmax("straight-through")(KSubset(scores, k=1)).parts
        >>> (parts @ torch.tensor([1.0, 2.0, 3.0])).sum().backward()  # passes the gradient of parts on to scores
        >>> parts.detach(), scores.grad
        (tensor([[1., 0., 0.]]), tensor([[1., 2., 3.]]))
    """

    gradient: str = "straight-through"
    step: float = 1.0

    def __post_init__(self) -> None:
        require_one_of("gradient", self.gradient, SURROGATES)
        if not self.step > 0:
            raise ValueError(f"step is {self.step}; expected a positive number")

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        return _one_each(structures, structures.mode_parts(self.gradient, self.step))


@dataclass(frozen=True)
class TopK(Estimator):
    """The k best structures, with their probabilities renormalised.

    Args:
        k: Number of structures; if an item has fewer, all of them are used.

    Examples:
        >>> from strukt import KSubset
        >>> choices = KSubset(torch.tensor([[1.0, 0.5, -1.0]]), k=1)  # one of three
        >>> TopK(2)(choices).weights
        tensor([0.6225, 0.3775])
    """

    k: int = 5

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        scores, events = structures.topk(self.k)
        _require_one_axis(structures)
        guards.require_feasible(events, scores[:, 0])
        return _weighted(structures, events, scores.softmax(-1))


@dataclass(frozen=True)
class Sample(Estimator):
    """Exact samples with the score-function gradient (REINFORCE); in prediction, the best structure.

    The control variate of each sample is the mean of the other samples of its item (Kool et al. 2019); see
    `Mixture.expected`.

    Args:
        count: Number of samples for each item; at least 2.

    Raises:
        ValueError: If `count` is not a whole number of at least 2.

    Examples:
        >>> from strukt import KSubset
        >>> choices = KSubset(torch.tensor([[1.0, 0.5, -1.0]]), k=1)  # one of three
        >>> selection = Sample(4)(choices)
        >>> selection.parts.shape, selection.weights, selection.sampled
        (torch.Size([4, 3]), tensor([0.2500, 0.2500, 0.2500, 0.2500]), True)
        >>> Sample(4).in_prediction
        Argmax(gradient='straight-through', step=1.0)
    """

    count: int = 4

    def __post_init__(self) -> None:
        if not arguments.is_integer(self.count) or self.count < 2:
            raise ValueError(f"count is {self.count}; expected at least 2, for the control variate")

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
    """A relaxed sample: marginals under Gumbel noise (Paulus et al. 2020); in prediction, the marginals.

    Args:
        temperature: Temperature above 0; as it approaches 0, the sample approaches a discrete structure.

    Examples:
        >>> from strukt import KSubset
        >>> choices = KSubset(torch.tensor([[1.0, 0.5, -1.0]]), k=1)  # one of three
        >>> Relaxed(0.5)(choices).parts.sum(-1).round(decimals=3)  # random parts, with sum k
        tensor([1.])
        >>> Relaxed(0.5).in_prediction
        Marginals()
    """

    temperature: float = 1.0

    @override
    def __call__(self, structures: StructuredDistribution) -> Selection:
        return _one_each(structures, structures.rsample_relaxed(self.temperature))

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


def _require_one_axis(structures: Any) -> None:
    shape = getattr(structures, "batch_shape", None)
    if shape is not None and len(shape) != 1:
        raise ValueError(f"structures have batch shape {tuple(shape)}; expected one batch axis")


def _one_each(structures: Any, parts: Tensor) -> Selection:
    """Return a selection of one structure for each item, with weight 1."""
    _require_one_axis(structures)
    return Selection(parts, parts.new_ones(len(parts)), torch.arange(len(parts), device=parts.device))


def _weighted(structures: StructuredDistribution, events: Tensor, weights: Tensor) -> Selection:
    """Return the selection of those events ``(batch, k, *event)`` whose weights ``(batch, k)`` are above 0."""
    _require_one_axis(structures)
    used = weights > 0
    named = torch.where(used.reshape(*used.shape, *(1,) * (events.dim() - 2)), events, events[:, :1])
    parts = structures.to_parts(named.movedim(1, 0)).movedim(0, 1)
    return Selection(parts[used].to(weights.dtype), weights[used], used.nonzero()[:, 0])
