"""Conjugate priors of the parameters of hidden Markov models: pseudo-observations that are added to the counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias, TypeVar

import torch
from torch import Tensor

from strukt.checks import arguments


@dataclass(frozen=True)
class GaussianPrior:
    """The prior of means and covariances: normal for means given covariances, inverse Wishart for covariances.

    A mean is estimated as if there were ``mean_weight`` additional observations equal to ``mean``. A covariance is
    estimated as if there were ``scatter_weight`` additional observations, whose squared deviations sum to
    ``scatter``.

    Args:
        mean: A number, or a tensor that broadcasts to the means.
        mean_weight: A number, or ``(z,)``, one for each mean; ``(z, m)`` in a `GaussianMixture`.
        scatter: A number (the diagonal of a matrix), or a tensor that broadcasts to the covariances.
        scatter_weight: A number, or one for each covariance; with tied covariances, ``(1,)``.
        concentration: The concentration of the Dirichlet prior of the weights of a `GaussianMixture`; 1 is flat.

    Raises:
        ValueError: If a field is neither a number nor a tensor, or not finite, or if ``mean_weight``,
            ``concentration`` or a number ``scatter`` is negative.

    Examples:
        >>> from strukt import Priors
        >>> from strukt import HMM, Gaussian
        >>> hmm = HMM(torch.zeros(1), torch.zeros(1, 1), Gaussian(torch.zeros(1, 1), torch.ones(1, 1)))
        >>> counts = hmm.expected_counts(torch.tensor([[4.0], [8.0]]))
        >>> hmm.maximised(counts).emission.means
        tensor([[6.]])
        >>> hmm.maximised(counts, Priors(emission=GaussianPrior(mean=0.0, mean_weight=1.0))).emission.means
        tensor([[4.]])
    """

    mean: float | Tensor = 0.0
    mean_weight: float | Tensor = 0.0
    scatter: float | Tensor = 0.0
    scatter_weight: float | Tensor = 0.0
    concentration: float | Tensor = 1.0

    def __post_init__(self) -> None:
        for name in ("mean", "scatter_weight"):
            _require_numbers(name, getattr(self, name), -math.inf)
        # Entries of a covariance may be negative.
        _require_numbers("scatter", self.scatter, 0.0 if isinstance(self.scatter, Real) else -math.inf)
        for name in ("mean_weight", "concentration"):
            _require_numbers(name, getattr(self, name), 0.0)


@dataclass(frozen=True)
class PoissonPrior:
    """The gamma prior of rates: they are estimated as if ``weight`` additional observations summed to ``total``.

    Args:
        total: A number, or a tensor that broadcasts to the rates.
        weight: A number, or a tensor that broadcasts to the rates.

    Raises:
        ValueError: If a field is neither a number nor a tensor, or is negative or not finite.

    Examples:
        >>> from strukt import Priors
        >>> from strukt import HMM, Poisson
        >>> hmm = HMM(torch.zeros(1), torch.zeros(1, 1), Poisson(torch.ones(1)))
        >>> counts = hmm.expected_counts(torch.tensor([1, 3, 5]))
        >>> hmm.maximised(counts, Priors(emission=PoissonPrior(total=2.0, weight=1.0))).emission.rates
        tensor([2.7500])
    """

    total: float | Tensor = 0.0
    weight: float | Tensor = 0.0

    def __post_init__(self) -> None:
        for name in ("total", "weight"):
            _require_numbers(name, getattr(self, name), 0.0)


EmissionPrior: TypeAlias = float | Tensor | GaussianPrior | PoissonPrior | None
"""The prior of an emission: a concentration for words, a Gaussian or Poisson prior for vectors; None is flat."""

PriorT = TypeVar("PriorT", bound="GaussianPrior | PoissonPrior")


@dataclass(frozen=True)
class Priors:
    """Priors of all parameters, for `HMM.fit`; flat by default, for maximum likelihood.

    Args:
        initial: The concentration of the Dirichlet prior of the first state: a number, or ``(z,)`` for z states; 1
            is flat.
        transition: The concentration of the Dirichlet prior of each row of the transition matrix: a number; or
            ``(z, z)`` for `Dense`, ``(z, 2 w + 1)`` for `Banded`. At low rank a number, for the rows of both
            factors. 1 is flat; below 1, small counts become 0.
        emission: The concentration of the Dirichlet prior of the v words in each state, a number or ``(z, v)``; a
            `GaussianPrior` or a `PoissonPrior` for emissions of vectors. None is flat.

    Raises:
        ValueError: If a concentration is negative, or not a finite number.

    Examples:
        >>> from strukt import HMM
        >>> coin = HMM(torch.zeros(1), torch.zeros(1, 1), torch.zeros(1, 2))
        >>> counts = coin.expected_counts(torch.tensor([0, 0, 0, 1]))
        >>> coin.maximised(counts).emission.table().exp().flatten()
        tensor([0.7500, 0.2500])
        >>> coin.maximised(counts, Priors(emission=2.0)).emission.table().exp().flatten()  # as if seen once more
        tensor([0.6667, 0.3333])
    """

    initial: float | Tensor = 1.0
    transition: float | Tensor = 1.0
    emission: EmissionPrior = None

    def __post_init__(self) -> None:
        _require_numbers("initial", self.initial, 0.0)
        _require_numbers("transition", self.transition, 0.0)
        if self.emission is not None and not isinstance(self.emission, (GaussianPrior, PoissonPrior)):
            _require_numbers("emission", self.emission, 0.0)


def with_dirichlet(
    counts: Tensor, possible: Tensor, concentration: float | Tensor, name: str = "priors.emission"
) -> Tensor:
    """Add the pseudo-counts of a Dirichlet prior, concentration - 1, to counts; results are at least 0.

    Args:
        counts: Expected counts.
        possible: A Boolean mask in the shape of the counts; the result is 0 where it is False.
        concentration: A number, or a tensor in the shape of the counts.
        name: The name of the concentration in error messages.

    Raises:
        ValueError: If the concentration has a wrong shape.
    """
    added = _fitting(concentration, counts, name) - 1.0
    return torch.where(possible, (counts + added).clamp(min=0.0), 0.0)


def dirichlet_log_density(
    log_probs: Tensor, concentration: float | Tensor, name: str = "priors.emission"
) -> Tensor:
    """Return the summed log-density of distributions under Dirichlet priors, up to a constant: ``()``.

    Events with log-probability -inf are left out.

    Raises:
        ValueError: If the concentration has a wrong shape.
    """
    added = _fitting(concentration, log_probs, name) - 1.0
    counted = (added != 0) & (log_probs.detach() > -torch.inf)
    return (added * torch.where(counted, log_probs, 0.0)).sum()


def concentration_of(prior: EmissionPrior, kind: str) -> float | Tensor:
    """Return the concentration of a Dirichlet prior on word emissions; 1 for None.

    Raises:
        ValueError: If it is a `GaussianPrior` or a `PoissonPrior`.
    """
    if isinstance(prior, (GaussianPrior, PoissonPrior)):
        raise ValueError(
            f"priors.emission is a {type(prior).__name__}; expected a concentration, a number or a tensor of "
            f"shape (z, v), as emissions are {kind}"
        )
    return 1.0 if prior is None else prior


def prior_of(kind: type[PriorT], prior: EmissionPrior) -> PriorT:
    """Return a prior on emissions of vectors, checked to be a ``kind``; for None, a flat prior of this kind.

    Raises:
        ValueError: If the prior is of another kind.
    """
    if prior is None:
        return kind()
    if not isinstance(prior, kind):
        raise ValueError(
            f"priors.emission is a {type(prior).__name__}; expected a {kind.__name__}, as that is the prior of "
            "these emissions"
        )
    return prior


def fitting(name: str, value: float | Tensor, like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a field of a prior on emissions as a tensor in the type and on the device of ``like``.

    Its ``name`` is for error messages.

    Raises:
        ValueError: If it does not broadcast to ``shape``.
    """
    tensor = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    arguments.fitting(f"priors.emission.{name}", tensor, torch.Size(shape))
    return tensor


def _require_numbers(name: str, value: float | Tensor, least: float) -> None:
    """Raise ValueError unless a value is a number or a tensor, finite, and not less than ``least``."""
    expected = "finite numbers" if least == -math.inf else f"finite numbers of {least:g} or more"
    if not isinstance(value, (Tensor, Real)):
        raise ValueError(f"{name} is {value!r}; expected a number or a tensor of {expected}")
    numbers = torch.as_tensor(value).detach()
    wrong = ~(numbers.isfinite() & (numbers >= least))
    if bool(wrong.any()):
        raise ValueError(f"{name} holds {numbers[wrong][0].item()}; expected {expected}")


def _fitting(concentration: float | Tensor, counts: Tensor, name: str) -> Tensor:
    """Return a concentration as a tensor, checked to be a number or in the shape of ``counts``."""
    value = torch.as_tensor(concentration, dtype=counts.dtype, device=counts.device)
    if value.dim() and value.shape != counts.shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected a number or {tuple(counts.shape)}")
    return value
