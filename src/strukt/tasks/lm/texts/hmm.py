"""Hidden Markov models as distributions over texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from strukt.automata import Automaton
from strukt.distributions import HMM
from strukt.nn.encoders import mask_of
from strukt.structures.hmm.emissions.symbols import Symbols
from strukt.structures.hmm.guide import HMMGuide
from strukt.structures.hmm.steps import steps
from strukt.tasks.lm.texts.text import State, Text
from strukt.viz import Graph, HeatMap

SHOWN_STATES = 12
"""Maximum number of states in a picture."""

SHOWN_WORDS = 3
"""Number of most probable words shown for each state."""

MIXING = 100
"""Number of steps after which the distribution of states is assumed to be stationary."""


class HiddenMarkovText(Text):
    """A hidden Markov model as a distribution over texts.

    Args:
        symbols: The words, in the order of their indices.
        hmm: The hidden Markov model over word indices.
    """

    def __init__(self, symbols: Sequence[str], hmm: HMM) -> None:
        super().__init__(symbols)
        self.hmm = hmm

    @override
    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        return self.hmm.stream(x, state, lengths)

    @override
    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        inside = mask_of(lengths, x.shape[1])
        words = x.masked_fill(~inside, 0)
        log_probs = self.hmm.predict(words, lengths).gather(2, words[..., None]).squeeze(2)
        return log_probs.masked_fill(~inside, 0)

    @override
    def sample(self, count: int, length: int) -> Tensor:
        return self.hmm.sample((count,), length)

    @override
    def guide(self, constraint: Automaton, length: int, end: int) -> HMMGuide:
        return HMMGuide(self.hmm, constraint, length, end)

    @override
    def infill(self, x: Tensor, missing: Tensor, lengths: Tensor) -> Tensor:
        return self.hmm.infill(x, missing, lengths).log_probs

    @override
    def picture(self, forms: Sequence[str], x: Tensor) -> HeatMap:
        """Draw the probabilities of the text's most probable states at each word; name states by their words."""
        states = self.hmm.smooth(x)[0]
        most = states.max(0).values.topk(min(SHOWN_STATES, states.shape[1])).indices
        order = most[states[:, most].argmax(0).argsort(stable=True)]
        return HeatMap("probability of hidden states", self._names(order), forms, states.T[order].tolist())

    def state_graph(self) -> Graph:
        """Draw the transitions between the most frequent states, at most `SHOWN_STATES` (12)."""
        matrices, band = self.hmm.transition.factors()
        moving = steps(matrices, band)
        use = self.hmm.initial.softmax(0).unsqueeze(0)
        for _ in range(MIXING):
            # The mean with the distribution before the step converges even for periodic chains.
            use = (use + moving.advance(moving.message(use))) / 2
        most = use[0].topk(min(SHOWN_STATES, self.hmm.states)).indices
        starts = torch.eye(self.hmm.states, dtype=use.dtype, device=use.device)[most]
        weights = moving.advance(moving.message(starts))[:, most].clamp(0.0, 1.0)
        return Graph("transitions between hidden states", self._names(most), weights.tolist())

    def _names(self, states: Tensor) -> list[str]:
        """Name each state by its number and the words that it emits with the highest probability."""
        emission = self.hmm.emission
        assert isinstance(emission, Symbols)
        words = emission.of_states(states).topk(min(SHOWN_WORDS, len(self.symbols)), 1).indices
        return [
            f"{state}: {' '.join(self.symbols[word] for word in row)}"
            for state, row in zip(states.tolist(), words.tolist(), strict=True)
        ]
