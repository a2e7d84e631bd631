"""Emissions from mixtures of normal distributions, several components in each state."""

from __future__ import annotations

import torch
from torch import Tensor, distributions
from typing_extensions import Self

from strukt.checks import arguments
from strukt.kernels.semiring import NEG_INF, logsumexp
from strukt.structures.hmm.emissions import normals
from strukt.structures.hmm.emissions.base import Parameters, require_logits
from strukt.structures.hmm.emissions.gaussian import mixture
from strukt.structures.hmm.emissions.k_means import clusters
from strukt.structures.hmm.emissions.vectors import Vectors
from strukt.structures.hmm.logits import free_numbers, updated
from strukt.structures.hmm.priors import (
    EmissionPrior,
    GaussianPrior,
    dirichlet_log_density,
    prior_of,
    with_dirichlet,
)


class GaussianMixture(Vectors):
    """Vectors from a mixture of m normal distributions in each state.

    Args:
        logits: ``(z, m)``; a softmax over each row gives the probabilities of the components.
        means: ``(z, m, d)``, the mean of each component in each of z states.
        covariances: ``(z, m, d)``, variances, or ``(z, m, d, d)``, covariance matrices. An axis of size 1 means
            that all states, all components, or all dimensions of variances share a value.

    Observations ``x`` are tensors ``(*, n, d)``. After an M step, the variance in each direction is at least a
    millionth of that of all observations.

    Raises:
        ValueError: If shapes or types do not fit. `HMM` also checks that covariances are positive definite and
            that each state has a possible component, unless ``validate_args=False``.

    Examples:
        >>> mixture = GaussianMixture(torch.zeros(1, 2), torch.tensor([[[-1.0], [1.0]]]), torch.ones(1, 2, 1))
        >>> mixture.log_densities(torch.tensor([[0.0]])).exp()
        tensor([[0.2420]])
    """

    def __init__(self, logits: Tensor, means: Tensor, covariances: Tensor) -> None:
        arguments.scores("logits", logits, "(z, m)", 2)
        arguments.scores("means", means, "(z, m, d)", 3)
        arguments.scores("covariances", covariances, "(z, m, d) or (z, m, d, d)", 3)
        if means.dim() != 3 or logits.shape != means.shape[:2]:
            raise ValueError(
                f"the shapes do not fit together: logits {tuple(logits.shape)}, means {tuple(means.shape)}; "
                "expected (z, m) and (z, m, d)"
            )
        normals.require_shapes(means, covariances, "(z, m, d)")
        names = ("logits", "means", "covariances")
        self.logits, self.means, self.covariances = arguments.common_dtype(
            (logits, means, covariances), names
        )
        self.event_shape = means.shape[2:]

    @property
    def parameters(self) -> Parameters:
        return self.logits, self.means, self.covariances

    @property
    def free_parameters(self) -> int:
        return free_numbers(self.logits, 1) + normals.free_numbers(self.means, self.covariances)

    def require_valid(self) -> None:
        require_logits("logits", self.logits)
        empty = (self.logits == NEG_INF).all(1)
        if bool(empty.any()):
            state = int(empty.nonzero()[0])
            raise ValueError(
                f"logits are -inf for all components of state {state}; expected one that is possible"
            )
        normals.require_values(self.means, self.covariances)

    def log_densities(self, values: Tensor) -> Tensor:
        return logsumexp(self._joint(values), 2)

    def statistics(self, values: Tensor, weights: Tensor) -> Tensor:
        """Return the `normals.moments` of all components, centred at the mean of their means."""
        shares = self._joint(values.to(self.means.dtype)).detach().softmax(2)
        weights = weights.unsqueeze(2)
        shares = torch.where(weights > 0, shares * weights, 0.0)  # shares are NaN where all densities underflow
        return normals.moments(values, shares, self._centre(), normals.are_full(self.means, self.covariances))

    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        prior = prior_of(GaussianPrior, prior)
        means, covariances = self.means.detach(), self.covariances.detach()
        means, covariances = normals.maximised(statistics, means, covariances, self._centre(), prior)
        counts = with_dirichlet(statistics[..., 0, 0], self.logits > NEG_INF, prior.concentration)
        logits = updated(self.logits.detach(), counts.to(self.logits.dtype), 1)
        return type(self)(logits, means, covariances)

    def log_prior(self, prior: EmissionPrior) -> Tensor:
        prior = prior_of(GaussianPrior, prior)
        of_weights = dirichlet_log_density(self.logits.log_softmax(1), prior.concentration)
        return of_weights + normals.log_prior(self.means, self.covariances, prior)

    def redrawn(self, values: Tensor) -> Self:
        z, m, _ = self.means.shape
        values = values.to(self.means)
        _, members = clusters(values, z)
        by_state = [values[members == state] for state in range(z)]
        centres = torch.stack([clusters(some if len(some) else values, m)[0] for some in by_state])
        covariances = normals.overall(values, self.means, self.covariances)
        return type(self)(torch.zeros_like(self.logits), centres, covariances)

    def drawn(self, states: Tensor) -> Tensor:
        if not len(states):
            return self.means.new_empty(0, *self.event_shape)
        component = torch.multinomial(self.logits.softmax(1)[states], 1).squeeze(1)
        covariances = self._expanded()[states, component]
        return normals.as_distributions(self.means[states, component], covariances).sample()

    def mixture(self, probs: Tensor) -> distributions.Distribution:
        every = normals.as_distributions(self.means.flatten(0, 1), self._expanded().flatten(0, 1))
        return mixture((probs.unsqueeze(-1) * self.logits.softmax(1)).flatten(-2), every)

    def select(self, states: Tensor) -> Self:
        covariances = normals.of_states(self.covariances, states)
        return type(self)(self.logits[states], self.means[states], covariances)

    def unconstrained(self) -> Parameters:
        return self.logits, self.means, normals.unconstrained(self.means, self.covariances)

    def from_unconstrained(self, parameters: Parameters) -> Self:
        logits, means, numbers = parameters
        return type(self)(logits, means, normals.constrained(means, numbers))

    def _joint(self, values: Tensor) -> Tensor:
        """Return the joint log-densities of vectors and components, ``(t, z, m)``."""
        return normals.log_densities(values, self.means, self.covariances) + self.logits.log_softmax(1)

    def _expanded(self) -> Tensor:
        """Return a covariance for each component of each state, ``(z, m, d)`` or ``(z, m, d, d)``."""
        return self.covariances.expand(*self.means.shape[:2], *self.covariances.shape[2:])

    def _centre(self) -> Tensor:
        return self.means.detach().mean((0, 1))
