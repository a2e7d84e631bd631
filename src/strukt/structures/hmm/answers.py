"""Answers of hidden Markov models that have several parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

if TYPE_CHECKING:
    from strukt.structures.hmm.distribution import HMM


class Infilling(NamedTuple):
    """Words at missing places, given all others; see `HMM.infill`.

    Attributes:
        log_probs: ``(*, n, v)``, the log-probability of each word at each place, given the words that are there:
            at their places 0 for the word itself and -inf for others; -inf beyond the length.
        best: ``(*, n)``, with the most probable word at each missing place on its own, so that in expectation the
            fewest are wrong; -1 beyond the length.
        sample: ``(*, n)``, with missing words drawn from their joint distribution; -1 beyond the length.
    """

    log_probs: Tensor
    best: Tensor
    sample: Tensor


class Sampled(NamedTuple):
    """Observations with the states behind them; see `HMM.sample_with_states`.

    Attributes:
        x: ``sample_shape + (n, *event)``.
        states: ``sample_shape + (n,)``.
    """

    x: Tensor
    states: Tensor


class Fit(NamedTuple):
    """A fitted model; see `HMM.fit`.

    Attributes:
        model: The best one.
        log_probs: ``(steps taken,)``, the log-probability of the observations before each step; with priors, plus
            the log-density of the parameters, up to a constant.
        converged: Whether the last step rose by no more than the tolerance.
    """

    model: HMM
    log_probs: Tensor
    converged: bool
