"""Poisson emissions: counts with a rate in each state."""

from __future__ import annotations

import torch
from torch import Tensor, distributions
from typing_extensions import Self

from strukt.checks import arguments
from strukt.structures.hmm.emissions.base import Parameters
from strukt.structures.hmm.emissions.gaussian import mixture
from strukt.structures.hmm.emissions.k_means import clusters
from strukt.structures.hmm.emissions.vectors import Vectors
from strukt.structures.hmm.priors import EmissionPrior, PoissonPrior, fitting, prior_of

FLOOR = 1e-6
"""The least rate, relative to that of all observations: a rate of 0 would forbid positive counts forever."""


class Poisson(Vectors):
    """Counts with a Poisson distribution in each state; several counts are independent.

    Args:
        rates: The rates in z states, above 0; ``(z,)`` for observations ``x (*, n)``, or ``(z, d)`` for
            observations ``x (*, n, d)`` of d counts.

    Observations are non-negative integers, in a tensor of integer or floating-point type. After an M step, a rate
    is at least a millionth of that of all observations.

    Raises:
        ValueError: If the shape or type is wrong. `HMM` also checks that rates are above 0, unless
            ``validate_args=False``.

    Examples:
        >>> from strukt import HMM
        >>> hmm = HMM(torch.zeros(2), torch.zeros(2, 2), Poisson(torch.tensor([1.0, 20.0])))
        >>> hmm.viterbi(torch.tensor([0, 2, 17, 25, 1]))[0]
        tensor([0, 0, 1, 1, 0])
    """

    def __init__(self, rates: Tensor) -> None:
        arguments.scores("rates", rates, "(z,) or (z, d)", 1)
        if rates.dim() > 2 or not rates.numel():
            raise ValueError(f"rates has shape {tuple(rates.shape)}; expected (z,) or (z, d) with z, d >= 1")
        (self.rates,) = arguments.common_dtype((rates,), ("rates",))
        self.event_shape = rates.shape[1:]

    @property
    def parameters(self) -> Parameters:
        return (self.rates,)

    @property
    def free_parameters(self) -> int:
        return self.rates.numel()

    def require_valid(self) -> None:
        wrong = ~((self.rates > 0) & self.rates.isfinite())
        if bool(wrong.any()):
            place = tuple(wrong.nonzero()[0].tolist())
            raise ValueError(
                f"rates holds {self.rates[place].item()} at {place}; expected finite numbers above 0"
            )

    def require_observations(self, x: Tensor) -> None:
        whole = (
            isinstance(x, Tensor)
            and not x.is_floating_point()
            and not x.is_complex()
            and x.dtype != torch.bool
        )
        super().require_observations(x.to(self.rates.dtype) if whole else x)

    def valid(self, x: Tensor) -> tuple[Tensor, str]:
        fine = (x >= 0) & (x == x.round()) if x.is_floating_point() else x >= 0
        return (
            fine & x.isfinite(),
            "non-negative integers: fill in missing values, or cut the sequence there",
        )

    def log_densities(self, values: Tensor) -> Tensor:
        # The terms are of the size of the counts times their logs, and almost cancel.
        counts, rates = self._rows(values).double(), self._rows(self.rates).double()
        logs = counts @ rates.log().mT - rates.sum(1) - torch.lgamma(counts + 1).sum(1, keepdim=True)
        return logs.to(self.rates.dtype)

    def statistics(self, values: Tensor, weights: Tensor) -> Tensor:
        """Return the sums of weights and of weighted counts, ``(z, 2, d)``, in double precision."""
        counts, weights = self._rows(values).double(), weights.double()
        return torch.stack([weights.mT @ torch.ones_like(counts), weights.mT @ counts], 1)

    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        total, weight = self._pseudo_counts(prior, statistics)
        seen, counts = (part.reshape(self.rates.shape) for part in statistics.unbind(1))
        weights, totals = seen + weight, counts + total
        rates = torch.where(weights > 0, totals / torch.where(weights > 0, weights, 1.0), self.rates.detach())
        overall = counts.sum(0) / seen.sum(0)
        return type(self)(
            torch.maximum(rates, FLOOR * torch.where(overall > 0, overall, 1.0)).to(self.rates.dtype)
        )

    def log_prior(self, prior: EmissionPrior) -> Tensor:
        total, weight = self._pseudo_counts(prior, self.rates)
        return (total * self.rates.log() - weight * self.rates).sum()

    def redrawn(self, values: Tensor) -> Self:
        counts = self._rows(values).to(self.rates.dtype)
        centres, _ = clusters(counts, self.states)
        return type(self)((centres + FLOOR * (counts.mean(0) + 1.0)).reshape(self.rates.shape))

    def drawn(self, states: Tensor) -> Tensor:
        return torch.poisson(self.rates[states]).long()

    def mixture(self, probs: Tensor) -> distributions.Distribution:
        counts = distributions.Poisson(self.rates, validate_args=False)
        return mixture(probs, distributions.Independent(counts, len(self.event_shape), validate_args=False))

    def select(self, states: Tensor) -> Self:
        return type(self)(self.rates[states])

    def unconstrained(self) -> Parameters:
        return (self.rates.log(),)

    def from_unconstrained(self, parameters: Parameters) -> Self:
        return type(self)(*(numbers.exp() for numbers in parameters))

    def _pseudo_counts(self, prior: EmissionPrior, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return the total and the weight of a prior, checked to broadcast to the rates."""
        known, shape = prior_of(PoissonPrior, prior), self.rates.shape
        return (
            fitting("total", known.total, like, shape),
            fitting("weight", known.weight, like, shape),
        )

    def _rows(self, values: Tensor) -> Tensor:
        """Return values ``(m,)`` or ``(m, d)`` as rows ``(m, d)``."""
        return values.reshape(len(values), self.event_shape.numel())
