"""Named tuples that methods of hidden Markov models return."""

from __future__ import annotations

from typing import Generic, TypeVar

from torch import Tensor
from typing_extensions import NamedTuple  # that of typing cannot be generic before Python 3.11

from strukt.structures.hmm.parameters import HMMParameters

Model = TypeVar("Model", bound=HMMParameters)


class Infilling(NamedTuple):
    """Words at missing positions, given all other words; see `HMM.infill`.

    Attributes:
        log_probs: ``(*, n, v)``, the log-probability of each word at each position, given the observed words. At
            an observed position it is 0 for the word itself and -inf for others; in the padding it is -inf.
        best: ``(*, n)``, the sentences with the most probable word at each missing position, which minimises the
            expected number of errors; -1 in the padding.
        sample: ``(*, n)``, the sentences with missing words drawn from their joint distribution; -1 in the
            padding.
    """

    log_probs: Tensor
    best: Tensor
    sample: Tensor


class HMMSample(NamedTuple):
    """Sampled observations and their hidden states; see `HMM.sample_with_states`.

    Attributes:
        x: The observations, ``sample_shape + (n, *event)``.
        states: The hidden state at each observation, ``sample_shape + (n,)``.
    """

    x: Tensor
    states: Tensor


class Fit(NamedTuple, Generic[Model]):
    """A fitted model; see `HMM.fit`.

    Attributes:
        model: The model after the last step.
        log_probs: ``(steps taken,)``, the log-probability of the observations before each step, plus the
            log-density of the parameters under the priors, up to a constant.
        converged: Whether the last improvement was at most the tolerance.

    The last step of an optimiser, unlike one of EM, may have made the model worse.
    """

    model: Model
    log_probs: Tensor
    converged: bool
