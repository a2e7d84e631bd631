"""Emissions of vectors and counts: observations with a density in each state."""

from __future__ import annotations

import abc

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.structures.hmm.emissions.base import Emission, Scored


class Vectors(Emission):
    """The densities of vectors in each of z states; observations are tensors ``(*, n, *event_shape)``.

    A subclass has parameters of its choice, the first with z rows. It sets `event_shape` if observations are
    vectors, and implements `log_densities` and these members of `Emission`: `parameters`, `free_parameters`,
    `statistics`, `maximised`, `log_prior`, `redrawn`, `drawn`, `mixture` and `select`. If not all values of the
    parameters are valid, it also implements `require_valid`, `unconstrained` and `from_unconstrained`.
    """

    @abc.abstractmethod
    def log_densities(self, values: Tensor) -> Tensor:
        """Return the log-densities ``(t, z)`` of t observations ``(t, *event)`` in all states; differentiable."""

    def require_observations(self, x: Tensor) -> None:
        axes = f"(*, n{''.join(f', {size}' for size in self.event_shape)})"
        arguments.scores("x", x, axes, len(self.event_shape) + 1)
        if x.shape[x.dim() - len(self.event_shape) :] != self.event_shape:
            raise ValueError(
                f"x has shape {tuple(x.shape)}; expected {axes}, as {self!r} emits vectors of this size"
            )
        if x.device != self.parameters[0].device:
            raise ValueError(
                f"x is on {x.device} and the scores on {self.parameters[0].device}; move both to one device"
            )

    def valid(self, x: Tensor) -> tuple[Tensor, str]:
        return x.isfinite(), "finite numbers: fill in missing values, or cut the sequence there"

    def scored(self, values: Tensor) -> Scored:
        rows = torch.arange(len(values), device=values.device)
        return Scored(rows, self.log_densities(values.to(self.parameters[0].dtype)))
