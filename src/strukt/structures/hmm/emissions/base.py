"""Emissions of hidden Markov models: the base class of distributions of an observation given the state.

The recursions look up rows of a table of log-probabilities ``(u, z)``. All occurrences of a word share a row; each
vector has its own row.
"""

from __future__ import annotations

import abc
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.distributions import Distribution
from typing_extensions import Self

from strukt.checks import guards
from strukt.structures.hmm.blocked_forward import Blocks
from strukt.structures.hmm.priors import EmissionPrior


class Scored(NamedTuple):
    """The log-probabilities of observations ``(t, *event)`` in all states.

    Attributes:
        rows: ``(t,)``, the row of the table for each observation.
        table: ``(u, z)``, log-probabilities; differentiable. With ``blocks``, ``(u, k)`` for the k states of the
            block of each row.
        blocks: The block of states of each row, or None.
    """

    rows: Tensor
    table: Tensor
    blocks: Blocks | None = None


Parameters: TypeAlias = tuple[Tensor, ...]


class Emission(abc.ABC):
    """The distribution of an observation in each of z states.

    In shapes, t is the number of observations, and u the number of rows in a table of log-probabilities: one for
    each distinct word, or for each vector. ``event`` stands for `event_shape`, the shape of one observation. The
    base classes of user-defined emissions are `strukt.structures.hmm.emissions.symbols.Symbols` and
    `strukt.structures.hmm.emissions.vectors.Vectors`.
    """

    event_shape: torch.Size = torch.Size()
    """The shape of an observation: ``()`` or ``(d,)``."""

    @property
    @abc.abstractmethod
    def parameters(self) -> Parameters:
        """The tensors of parameters; the first axis of the first one is that of the z states."""

    @property
    def states(self) -> int:
        """The number of states, z."""
        return self.parameters[0].shape[0]

    @property
    @abc.abstractmethod
    def free_parameters(self) -> int:
        """The number of free parameters."""

    def require_valid(self) -> None:
        """Raise ValueError if a parameter has an invalid value."""
        for parameter in self.parameters:
            require_logits("emission", parameter)

    @abc.abstractmethod
    def require_observations(self, x: Tensor) -> None:
        """Check the type, shape and device of observations.

        Args:
            x: ``(*, n, *event)``.

        Raises:
            ValueError: If one of them is wrong.
        """

    @abc.abstractmethod
    def valid(self, x: Tensor) -> tuple[Tensor, str]:
        """Return a mask of the valid values, in the shape of ``x``, and a description of them for messages."""

    @abc.abstractmethod
    def scored(self, values: Tensor) -> Scored:
        """Return the log-probabilities of observations in all states.

        Args:
            values: ``(t, *event)``, the observations.
        """

    def scored_by_block(self, values: Tensor) -> Scored:
        """Return the log-probabilities of observations in the states of their blocks.

        If the emission has no blocks, return those in all states.

        Args:
            values: ``(t, *event)``, the observations.
        """
        return self.scored(values)

    @abc.abstractmethod
    def statistics(self, values: Tensor, weights: Tensor) -> Tensor:
        """Return the sums over observations that `maximised` needs.

        Args:
            values: ``(t, *event)``, the observations.
            weights: ``(u, z)``, the expected number of times that each row of `scored` is used in each state.

        Returns:
            A tensor in a shape of the emission's choice, whose sum over batches is the statistics of all of them.
        """

    @abc.abstractmethod
    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        """Return the emission that maximises the expected log-likelihood plus the log-prior; see `statistics`.

        States with neither observations nor a prior keep their parameters.

        Args:
            statistics: The result of `statistics`, or a sum of such results.
            prior: The prior of the parameters, as in `strukt.Priors`; None for a flat one.

        Raises:
            ValueError: If the prior is for another kind of emission.
            NotImplementedError: If there is no closed form.
        """

    @abc.abstractmethod
    def log_prior(self, prior: EmissionPrior) -> Tensor:
        """Return the log-density of the parameters under a prior, up to a constant: ``()``; differentiable.

        Args:
            prior: The prior of the parameters, as in `strukt.Priors`; None for a flat one.

        Raises:
            ValueError: If the prior is for another kind of emission.
        """

    @abc.abstractmethod
    def redrawn(self, values: Tensor) -> Self:
        """Return an emission of the same form with random parameters, as the start of a fit.

        They are drawn with PyTorch's generator; forbidden observations stay forbidden.

        Args:
            values: ``(t, *event)``, the observations to fit; at least one.
        """

    def emits(self) -> Tensor:
        """Return a mask ``(z,)`` of the states that can emit an observation."""
        return torch.ones(self.states, dtype=torch.bool, device=self.parameters[0].device)

    @abc.abstractmethod
    def drawn(self, states: Tensor) -> Tensor:
        """Draw one observation from each of m states ``(m,)``, which may repeat: ``(m, *event)``.

        Raises:
            InfeasibleError: If one of the states has no observation.
        """

    @abc.abstractmethod
    def mixture(self, probs: Tensor) -> Distribution:
        """Return the distribution of an observation, with batch shape ``(*)``.

        Args:
            probs: ``(*, z)``, the probabilities of its state.
        """

    @abc.abstractmethod
    def select(self, states: Tensor) -> Self:
        """Return the emission restricted to states ``(k,)``, in ascending order."""

    def unconstrained(self) -> Parameters:
        """Return the parameters as unconstrained tensors, for gradients; `from_unconstrained` is the inverse."""
        return self.parameters

    def from_unconstrained(self, parameters: Parameters) -> Self:
        """Return the emission with ``parameters`` in the form of `unconstrained`; differentiable."""
        return type(self)(*parameters)

    def __repr__(self) -> str:
        shapes = ", ".join(str(tuple(parameter.shape)) for parameter in self.parameters)
        return f"{type(self).__name__}({shapes})"


def require_logits(name: str, logits: Tensor) -> None:
    """Raise ValueError if logits hold NaN, or a number above `guards.LARGEST`; -inf is valid."""
    whole = torch.full((1,), 1, device=logits.device)
    extents = [guards.UNBOUNDED] * logits.dim()
    guards.require_scores(logits.detach().unsqueeze(0), whole, extents, name)
