"""The base class of emissions of words."""

from __future__ import annotations

import abc

import torch
from torch import Tensor, distributions
from typing_extensions import Self

from strukt.checks import arguments
from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF, finite
from strukt.structures.hmm.blocked_forward import Blocks
from strukt.structures.hmm.emissions.base import Emission, Scored
from strukt.structures.hmm.logits import redrawn
from strukt.structures.hmm.priors import EmissionPrior, concentration_of, dirichlet_log_density
from strukt.structures.hmm.reference import safe_log


class Symbols(Emission):
    """The probabilities of v words in each of z states.

    A subclass has parameters of its choice, the first with z rows unless it overrides `states`. It implements
    `words`, `of_words` and `of_states`, and these members of `Emission`: `parameters`, `free_parameters`,
    `maximised` and `select`. If its constructor takes other arguments than the parameters, it also implements
    `from_unconstrained`.
    """

    @property
    @abc.abstractmethod
    def words(self) -> int:
        """The number of words, v."""

    @abc.abstractmethod
    def of_words(self, words: Tensor) -> Tensor:
        """Return the log-probabilities ``(u, z)`` of u words ``(u,)`` in all states; differentiable."""

    def of_own_states(self, words: Tensor) -> tuple[Tensor, Blocks] | None:
        """Return the log-probabilities ``(u, k)`` of words in the k states of their blocks, and the blocks.

        Return None, the default, for an emission without blocks.
        """
        return None

    @abc.abstractmethod
    def of_states(self, states: Tensor) -> Tensor:
        """Return the log-probabilities ``(m, v)`` of all words in m states ``(m,)``; differentiable."""

    def table(self) -> Tensor:
        """Return the log-probabilities of all words in all states, ``(v, z)``; differentiable."""
        return self.of_words(torch.arange(self.words, device=self.parameters[0].device))

    def require_observations(self, x: Tensor) -> None:
        arguments.integers("x", x, "(*, n)", self.parameters[0].device)

    def valid(self, x: Tensor) -> tuple[Tensor, str]:
        expected = f"words from 0 to {self.words - 1}, as there are {self.words} in the vocabulary"
        return (x >= 0) & (x < self.words), expected

    def scored(self, values: Tensor) -> Scored:
        used, rows = torch.unique(values.long(), return_inverse=True)
        return Scored(rows, self.of_words(used))

    def scored_by_block(self, values: Tensor) -> Scored:
        used, rows = torch.unique(values.long(), return_inverse=True)
        scored = self.of_own_states(used)
        return Scored(rows, self.of_words(used)) if scored is None else Scored(rows, *scored)

    def statistics(self, values: Tensor, weights: Tensor) -> Tensor:
        """Return the expected number of times that each state emits each word, ``(z, v)``."""
        counts = weights.new_zeros(self.states, self.words)
        return counts.index_copy(1, torch.unique(values.long()), weights.mT)

    def log_prior(self, prior: EmissionPrior) -> Tensor:
        concentration = concentration_of(prior, type(self).__name__)
        if isinstance(concentration, (float, int)) and concentration == 1:
            return self.parameters[0].new_zeros(())
        return dirichlet_log_density(self.table().mT, concentration)

    def drawn(self, states: Tensor) -> Tensor:
        if not len(states):
            return states
        chances = self.of_states(states).exp()
        silent = ~(chances > 0).any(1)
        if bool(silent.any()):
            raise InfeasibleError(
                f"state {states[silent][0].item()} emits no word: all its words are forbidden, so there is no "
                "sample; allow one, or forbid the state"
            )
        return torch.multinomial(chances, 1).squeeze(1)

    def emits(self) -> Tensor:
        with torch.no_grad():
            return (self.table() > NEG_INF).any(0)

    def mixture(self, probs: Tensor) -> distributions.Categorical:
        return distributions.Categorical(logits=words_of_states(probs, self.table()), validate_args=False)

    def redrawn(self, values: Tensor) -> Self:
        return self.from_unconstrained(tuple(map(redrawn, self.unconstrained())))


def words_of_states(states: Tensor, table: Tensor) -> Tensor:
    """Return the log-probabilities of words ``(*, v)``, given the probabilities of their states ``(*, z)``."""
    top = table.detach().amax(1)
    top = finite(top)
    return safe_log(states @ (table - top.unsqueeze(1)).exp().mT) + top
