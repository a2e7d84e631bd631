"""Transition operators of hidden Markov models: dense, low-rank and banded matrices."""

from __future__ import annotations

import abc

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.kernels.semiring import NEG_INF, logsumexp
from strukt.structures.hmm import band as bands
from strukt.structures.hmm import low_rank
from strukt.structures.hmm.logits import free_numbers, reaches, redrawn, softmax, updated


class Transition(abc.ABC):
    """The base class of transition matrices of z states: a matrix or a product of two, a band, or their sum.

    A subclass implements `parameters` (of its choice; the first has z rows), `factors`, `select`, `maximised` and
    `free_parameters`. All factors must be non-negative, and each row of the transition matrix must sum to 1, or be
    0 for a state without successor. If the constructor takes other arguments than the parameters, or not all
    values are valid, the subclass also implements `unconstrained` and `from_unconstrained`.
    """

    @property
    @abc.abstractmethod
    def parameters(self) -> tuple[Tensor, ...]:
        """The tensors of parameters."""

    @abc.abstractmethod
    def factors(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """Return factors and a band, as probabilities; the transition matrix is the product plus the band.

        The factors are one, ``(z, z)``, or two, ``(z, r)`` and ``(r, z)`` for a rank r, or none. The band is
        ``(z, 2 w + 1)`` for w states to either side, ``[i, d]`` from state i to state i + d - w; or None.
        """

    @abc.abstractmethod
    def select(self, states: Tensor) -> Self:
        """Return the transitions among states ``(k,)``, in ascending order, and normalised again."""

    @abc.abstractmethod
    def maximised(self, matrices: tuple[Tensor, ...], band: Tensor | None) -> Self:
        """Return the transitions of the highest likelihood; rows without counts are unchanged.

        Args:
            matrices: The expected counts in the shapes of the factors that `factors` returns.
            band: The expected counts in the shape of the band, or None.
        """

    @property
    @abc.abstractmethod
    def free_parameters(self) -> int:
        """The number of free parameters."""

    def unconstrained(self) -> tuple[Tensor, ...]:
        """Return the parameters as unconstrained tensors of any shapes, for gradients.

        `from_unconstrained` is the inverse.
        """
        return self.parameters

    def from_unconstrained(self, parameters: tuple[Tensor, ...]) -> Self:
        """Return the transitions with ``parameters`` in the form of `unconstrained`; differentiable."""
        return type(self)(*parameters)

    def redrawn(self) -> Self:
        """Return transitions of the same form with random parameters; forbidden transitions stay forbidden.

        They are drawn with PyTorch's generator.
        """
        return self.from_unconstrained(tuple(map(redrawn, self.unconstrained())))

    @property
    def states(self) -> int:
        """The number of states, z."""
        return self.parameters[0].shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """The type of the probabilities."""
        return self.parameters[0].dtype

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.parameters[0].device

    def dense(self) -> Tensor:
        """Return the transition matrix, ``(z, z)``; differentiable. Time O(z^2 r) at rank r."""
        matrices, band = self.factors()
        result = torch.linalg.multi_dot(matrices) if len(matrices) > 1 else matrices[0] if matrices else None
        if band is None:
            assert result is not None
            return result
        return bands.dense(band) if result is None else result + bands.dense(band)

    def __repr__(self) -> str:
        shapes = ", ".join(str(tuple(parameter.shape)) for parameter in self.parameters)
        return f"{type(self).__name__}({shapes})"


class Dense(Transition):
    """A dense transition matrix of z states: O(z^2) per step.

    Args:
        logits: ``(z, z)``; a softmax over each row gives the probabilities of the next state.

    Raises:
        ValueError: If the shape or type is wrong.

    Examples:
        >>> Dense(torch.tensor([[0.0, 0.0], [0.0, -torch.inf]])).dense()
        tensor([[0.5000, 0.5000],
                [1.0000, 0.0000]])
    """

    def __init__(self, logits: Tensor) -> None:
        arguments.scores("transition", logits, "(z, z)", 2)
        if logits.dim() != 2 or logits.shape[0] != logits.shape[1]:
            raise ValueError(
                f"transition has shape {tuple(logits.shape)}; expected (z, z), a row and a column per state"
            )
        (self.logits,) = arguments.common_dtype((logits,), ("transition",))

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    @property
    def free_parameters(self) -> int:
        return free_numbers(self.logits, 1)

    def factors(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        return (softmax(self.logits, 1),), None

    def select(self, states: Tensor) -> Self:
        return type(self)(self.logits[states][:, states])

    def maximised(self, matrices: tuple[Tensor, ...], band: Tensor | None) -> Self:
        (counts,) = matrices
        return type(self)(updated(self.logits, counts, 1))


class LowRank(Transition):
    """A transition matrix of rank r from log-features of states: O(z r) per step (Chiu, Deng and Rush 2021).

    The probability of state j after state i is proportional to the sum over features r of exp(source[i, r] +
    target[j, r]). It is computed as a product of two stochastic matrices, with the feature as a latent variable
    between the states,

        p(j | i) = sum_r W[i, r] P[j, r],   W = softmax_r(source + logsumexp_z target),   P = softmax_z(target),

    whose entries lie between 0 and 1 for features of any size.

    Args:
        source: ``(z, r)``, the log-features of each state before a transition, such as those of
            `strukt.nn.feature_maps`.
        target: ``(z, r)``, the log-features of each state after a transition.
        band: ``(z, 2 w + 1)``, logits of transitions to nearby states, ``[i, d]`` from state i to state i + d - w.
            Their exponentials are added to the products of features, and both are normalised together; see
            `Banded`. None for no band.

    Raises:
        ValueError: If shapes or types do not fit.

    Examples:
        >>> source, target = torch.tensor([[0.0, -200.0], [300.0, 0.0]]), torch.tensor([[0.0, 9.0], [0.0, 9.0]])
        >>> LowRank(source, target).dense()
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """

    def __init__(self, source: Tensor, target: Tensor, band: Tensor | None = None) -> None:
        arguments.scores("source", source, "(z, r)", 2)
        arguments.scores("target", target, "(z, r)", 2)
        if source.dim() != 2 or source.shape != target.shape or not source.shape[1]:
            raise ValueError(
                f"source has shape {tuple(source.shape)} and target {tuple(target.shape)}; expected (z, r) each"
            )
        self.source, self.target = arguments.common_dtype((source, target), ("source", "target"))
        self.band = None if band is None else _fitting(band, len(source)).to(self.source)

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return (self.source, self.target, *(() if self.band is None else (self.band,)))

    @property
    def free_parameters(self) -> int:
        """The number of free parameters of the two stochastic matrices; rows of the first include the band."""
        nearby = 0 if self.band is None else _numbers_inside(self.band)
        return free_numbers(self.source, 1) + nearby + free_numbers(self.target, 0)

    def factors(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        if self.band is None and reaches(self.source, 1) and reaches(self.target, 0):
            leaving, landing = low_rank.factors(self.source, self.target)
            return (leaving, landing.mT), None
        weights, landing = self.source + logsumexp(self.target, 0), softmax(self.target, 0).mT
        if self.band is None:
            return (softmax(weights, 1), landing), None
        both = softmax(torch.cat([weights, _inside(self.band)], 1), 1)
        return (both[:, : weights.shape[1]], landing), both[:, weights.shape[1] :]

    def select(self, states: Tensor) -> Self:
        band = None if self.band is None else _selected(self.band, states)
        return type(self)(self.source[states], self.target[states], band)

    def select_features(self, features: Tensor) -> Self:
        """Return the transitions restricted to features ``(k,)``, normalised again."""
        return type(self)(self.source[:, features], self.target[:, features], self.band)

    def maximised(self, matrices: tuple[Tensor, ...], band: Tensor | None) -> Self:
        leaving, landing = matrices
        (weights, kept), old_band = self.factors()
        target = updated(kept.log(), landing, 1).mT
        if self.band is None or band is None or old_band is None:
            return type(self)(updated(weights.log(), leaving, 1), target)
        old = torch.cat([weights, old_band], 1).log()
        both = updated(old, torch.cat([leaving, band], 1), 1)
        return type(self)(both[:, : weights.shape[1]], target, both[:, weights.shape[1] :])


class Banded(Transition):
    """Transitions to nearby states only, up to w states away: O(z w) per step.

    Args:
        logits: ``(z, 2 w + 1)``, ``[i, d]`` for state i followed by state i + d - w; transitions to states that do
            not exist are ignored. A softmax over each row gives the probabilities.

    `LowRank` takes such a band, too.

    Raises:
        ValueError: If the shape or type is wrong.

    Examples:
        >>> Banded(torch.zeros(3, 3)).dense()
        tensor([[0.5000, 0.5000, 0.0000],
                [0.3333, 0.3333, 0.3333],
                [0.0000, 0.5000, 0.5000]])
    """

    def __init__(self, logits: Tensor) -> None:
        arguments.scores("band", logits, "(z, 2 w + 1)", 2)
        (self.logits,) = arguments.common_dtype((_fitting(logits, len(logits)),), ("band",))

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    @property
    def free_parameters(self) -> int:
        return _numbers_inside(self.logits) - self.states

    def factors(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        return (), softmax(_inside(self.logits), 1)

    def select(self, states: Tensor) -> Self:
        return type(self)(_selected(self.logits, states))

    def maximised(self, matrices: tuple[Tensor, ...], band: Tensor | None) -> Self:
        assert band is not None
        return type(self)(updated(_inside(self.logits), band, 1))


def _inside(band: Tensor) -> Tensor:
    """Return a band with -inf for transitions to states that do not exist."""
    z, w = len(band), band.shape[1] // 2
    target = torch.arange(z, device=band.device).unsqueeze(1)
    target = target + torch.arange(2 * w + 1, device=band.device) - w
    return band.masked_fill((target < 0) | (target >= z), NEG_INF)


def _numbers_inside(band: Tensor) -> int:
    """Return the number of entries of a band that lead to states that exist."""
    return int((_inside(torch.zeros_like(band)) == 0).sum())


def _selected(band: Tensor, states: Tensor) -> Tensor:
    """Return the band restricted to some states, renumbered; -inf for pairs outside the old band."""
    w = band.shape[1] // 2
    place = torch.arange(len(states), device=band.device).unsqueeze(1)
    place = place + torch.arange(2 * w + 1, device=band.device) - w
    inside = (place >= 0) & (place < len(states))
    offset = states[torch.where(inside, place, 0)] - states.unsqueeze(1) + w
    inside = inside & (offset >= 0) & (offset <= 2 * w)
    return torch.where(inside, band[states.unsqueeze(1), torch.where(inside, offset, 0)], NEG_INF)


def _fitting(band: Tensor, states: int) -> Tensor:
    """Return a band, checked to be ``(states, 2 w + 1)``."""
    arguments.scores("band", band, "(z, 2 w + 1)", 2)
    if band.dim() != 2 or len(band) != states or band.shape[1] % 2 == 0:
        raise ValueError(
            f"band has shape {tuple(band.shape)}; expected ({states}, 2 w + 1), an odd number of columns for the "
            "states from w before to w after each"
        )
    return band
