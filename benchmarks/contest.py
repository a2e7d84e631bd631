"""The things compared: cases (inputs of one size), contestants (libraries) and operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

Outputs = tuple[Tensor, ...]
"""The results of an operation."""

Loss = Callable[..., Tensor]
"""A function of raw inputs to the mean loss, a scalar."""


@dataclass(frozen=True)
class Case:
    """Inputs of one size, as a user holds them.

    Attributes:
        name: The sizes, as tables show them.
        shapes: The shape of every raw input.
        scales: Standard deviation of every raw input; 1 if None.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    scales: tuple[float, ...] | None = None

    def inputs(self) -> tuple[Tensor, ...]:
        """Return normally distributed float32 scores, the same in every process."""
        generator = torch.Generator().manual_seed(0)
        scales = self.scales or (1.0,) * len(self.shapes)
        return tuple(
            scale * torch.randn(shape, generator=generator)
            for scale, shape in zip(scales, self.shapes, strict=True)
        )


@dataclass(frozen=True)
class Contestant:
    """A library, as functions of the raw inputs; converting these to the library's layout is timed, too.

    Attributes:
        name: Name of its distribution on the package index.
        compute: Returns the log-partition `(batch,)`, or for a mapping its value in the shape of the input.
        mode: Returns the best structures as compact events; None if the library has no decoder.
        yardstick: Description of something else that it computes, for scale: its answers are not judged, and it is
            no peer. Empty for peers.
        learn: Function of gold structures, as compact events, and raw inputs, of which only the shapes matter. It
            returns the mean loss as a function of raw inputs. The structures are converted once, which is not
            timed. None if the library has no loss.
        loss: The loss that `learn` returned for the gold structures; set by `Family.taught`.
    """

    name: str
    compute: Callable[..., Tensor]
    mode: Callable[..., Tensor] | None = None
    yardstick: str = ""
    learn: Callable[..., Loss] | None = None
    loss: Loss | None = None


def _aliases(inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Return the inputs as new leaves, because some peers set `requires_grad` of their arguments."""
    return [score.detach() for score in inputs]


def forward(contestant: Contestant, inputs: tuple[Tensor, ...]) -> Outputs:
    """Return the log-partition, or the value of a mapping, without gradients."""
    with torch.no_grad():
        return (contestant.compute(*_aliases(inputs)).detach(),)


def gradient(contestant: Contestant, inputs: tuple[Tensor, ...]) -> Outputs:
    """Return the log-partition and its gradient with respect to every raw input."""
    leaves = [score.requires_grad_() for score in _aliases(inputs)]
    value = contestant.compute(*leaves)
    return (value.detach(), *torch.autograd.grad(value.sum(), leaves))


def mode(contestant: Contestant, inputs: tuple[Tensor, ...]) -> Outputs:
    """Return the best structure of each item."""
    if contestant.mode is None:
        raise NotImplementedError("no decoder")
    with torch.no_grad():
        return (contestant.mode(*_aliases(inputs)),)


def step(contestant: Contestant, inputs: tuple[Tensor, ...]) -> Outputs:
    """Return the mean loss of the gold structures and its gradient with respect to every raw input."""
    if contestant.loss is None:
        raise NotImplementedError("no loss")
    leaves = [score.requires_grad_() for score in _aliases(inputs)]
    value = contestant.loss(*leaves)
    return (value.detach(), *torch.autograd.grad(value, leaves))


def pull(contestant: Contestant, inputs: tuple[Tensor, ...]) -> Outputs:
    """Return the value of a mapping, and its transposed Jacobian for the main scores, times these scores."""
    leaf, *others = _aliases(inputs)
    value = contestant.compute(leaf.requires_grad_(), *others)
    if not value.requires_grad:
        raise NotImplementedError("no derivative")
    return (value.detach(), *torch.autograd.grad(value, leaf, leaf.detach()))


Operation = Callable[[Contestant, tuple[Tensor, ...]], Outputs]
"""A function of a library and raw inputs that is timed."""

OPERATIONS: Mapping[str, Operation] = {"log-partition": forward, "gradient": gradient, "mode": mode}
TRAINING: Mapping[str, Operation] = {
    "log-partition": forward,
    "gradient": gradient,
    "training step": step,
    "mode": mode,
}

MAPPINGS: Mapping[str, Operation] = {"forward": forward, "gradient": pull}


@dataclass(frozen=True)
class Family:
    """A structure or a mapping, its cases and the libraries that have it.

    Attributes:
        name: Name on the command line.
        title: Heading of its tables.
        cases: The cases to time.
        warm_up: A tiny case, for which every library loads, compiles, and allocates the memory that it keeps.
        contestants: The libraries, strukt first.
        score: Score of events under the raw inputs, in float64; None for a mapping.
        accuracy: Cases that are only checked, against `exact`, and not timed.
        exact: Log-partition and gradients of the raw inputs in arbitrary precision.
        operations: The operations to time, by name.
        gold: Structures to train on for raw inputs, as compact events; None where they are part of the
            distribution, so that the log-partition is the log-probability.
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    warm_up: Case
    contestants: tuple[Contestant, ...]
    score: Callable[..., Tensor] | None = None
    accuracy: tuple[Case, ...] = ()
    exact: Callable[..., Outputs] | None = None
    operations: Mapping[str, Operation] = field(default_factory=lambda: OPERATIONS)
    gold: Callable[..., Tensor] | None = None

    def taught(self, contestant: Contestant, inputs: tuple[Tensor, ...]) -> Contestant:
        """Return the library with its loss, that of the gold structures of some inputs."""
        if contestant.learn is None:
            return contestant
        structures = self.gold(*inputs) if self.gold else torch.empty(0)
        return replace(contestant, loss=_learned(contestant.learn, structures, inputs))


def _learned(learn: Callable[..., Loss], structures: Tensor, inputs: tuple[Tensor, ...]) -> Loss:
    """Return the loss of a library; if `learn` raises an error, return a loss that raises it, as the result."""
    try:
        return learn(structures, *inputs)
    except Exception as error:
        failure = error

    def raising(*_: Tensor) -> Tensor:
        raise failure

    return raising
