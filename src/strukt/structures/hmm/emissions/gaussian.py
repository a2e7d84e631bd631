"""Gaussian emissions: a mean and a covariance in each state."""

from __future__ import annotations

from functools import partial

from torch import Tensor, distributions
from typing_extensions import Self

from strukt.checks import arguments
from strukt.structures.hmm.emissions import normals
from strukt.structures.hmm.emissions.base import Parameters
from strukt.structures.hmm.emissions.k_means import clusters
from strukt.structures.hmm.emissions.vectors import Vectors
from strukt.structures.hmm.priors import EmissionPrior, GaussianPrior, prior_of


class Gaussian(Vectors):
    """Vectors with a normal distribution in each state.

    Args:
        means: ``(z, d)``, the mean of vectors of size d in each of z states.
        covariances: ``(z, d)``, variances of independent dimensions, or ``(z, d, d)``, covariance matrices. If the
            first axis has size 1, all states share them (tied); if the last axis of variances has size 1, all
            dimensions share one (spherical).

    Observations ``x`` are tensors ``(*, n, d)``. After an M step, the variance in each direction is at least a
    millionth of that of all observations.

    Raises:
        ValueError: If shapes or types do not fit. `HMM` also checks that covariances are positive definite, unless
            ``validate_args=False``.

    Examples:
        >>> import torch
        >>> from strukt import HMM
        >>> gaussian = Gaussian(torch.tensor([[0.0, 0.0], [5.0, 5.0]]), torch.ones(2, 2))
        >>> hmm = HMM(torch.zeros(2), torch.zeros(2, 2), gaussian)
        >>> hmm.smooth(torch.tensor([[0.1, -0.2], [4.9, 5.3], [5.0, 4.0]])).argmax(1)
        tensor([0, 1, 1])
    """

    def __init__(self, means: Tensor, covariances: Tensor) -> None:
        arguments.scores("means", means, "(z, d)", 2)
        arguments.scores("covariances", covariances, "(z, d) or (z, d, d)", 2)
        if means.dim() != 2:
            raise ValueError(
                f"means has shape {tuple(means.shape)}; expected (z, d), a vector for each state"
            )
        normals.require_shapes(means, covariances, "(z, d)")
        self.means, self.covariances = arguments.common_dtype((means, covariances), ("means", "covariances"))
        self.event_shape = means.shape[1:]

    @property
    def parameters(self) -> Parameters:
        return self.means, self.covariances

    @property
    def free_parameters(self) -> int:
        return normals.free_numbers(self.means, self.covariances)

    def require_valid(self) -> None:
        normals.require_values(self.means, self.covariances)

    def log_densities(self, values: Tensor) -> Tensor:
        return normals.log_densities(values, self.means, self.covariances)

    def statistics(self, values: Tensor, weights: Tensor) -> Tensor:
        """Return the `moments` of `strukt.structures.hmm.emissions.normals`, centred at the mean of the means."""
        full = normals.are_full(self.means, self.covariances)
        return normals.moments(values, weights, self._centre(), full)

    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        known = prior_of(GaussianPrior, prior)
        update = partial(normals.maximised, statistics, centre=self._centre(), prior=known)
        return type(self)(*update(self.means.detach(), self.covariances.detach()))

    def log_prior(self, prior: EmissionPrior) -> Tensor:
        return normals.log_prior(self.means, self.covariances, prior_of(GaussianPrior, prior))

    def redrawn(self, values: Tensor) -> Self:
        centres, _ = clusters(values.to(self.means), self.states)
        return type(self)(centres, normals.overall(values, self.means, self.covariances))

    def drawn(self, states: Tensor) -> Tensor:
        covariances = normals.of_states(self.covariances, states)
        return normals.as_distributions(self.means[states], covariances).sample()

    def mixture(self, probs: Tensor) -> distributions.Distribution:
        return mixture(probs, normals.as_distributions(self.means, self.covariances))

    def select(self, states: Tensor) -> Self:
        return type(self)(self.means[states], normals.of_states(self.covariances, states))

    def unconstrained(self) -> Parameters:
        return self.means, normals.unconstrained(self.means, self.covariances)

    def from_unconstrained(self, parameters: Parameters) -> Self:
        means, numbers = parameters
        return type(self)(means, normals.constrained(means, numbers))

    def _centre(self) -> Tensor:
        return self.means.detach().mean(0)


def mixture(probs: Tensor, components: distributions.Distribution) -> distributions.Distribution:
    """Return the mixtures of k distributions, ``components``, with weights ``probs (*, k)``."""
    chosen = distributions.Categorical(probs=probs, validate_args=False)
    return distributions.MixtureSameFamily(chosen, components.expand(probs.shape), validate_args=False)
