"""Texts of a hidden Markov model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from strukt.automata import Automaton
from strukt.distributions import HMM
from strukt.nn.encoders import mask_of
from strukt.structures.hmm.guide import HMMGuide
from strukt.structures.hmm.steps import steps
from strukt.structures.hmm.symbols import Symbols
from strukt.tasks.lm.texts.text import State, Text
from strukt.viz import Graph, HeatMap

SHOWN_STATES = 12
"""The most states in a picture."""

SHOWN_WORDS = 3
"""Of each state in it."""

MIXING = 100
"""Steps after which states are about as frequent as in long texts."""


class HiddenMarkovText(Text):
    """A hidden Markov model over words.

    Args:
        symbols: The words.
        hmm: The model.
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
        found = self.hmm.predict(words, lengths).gather(2, words[..., None]).squeeze(2)
        return found.masked_fill(~inside, 0)

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
        """Draw the probabilities of the most probable states behind words, with the words that they emit most."""
        behind = self.hmm.smooth(x)[0]
        most = behind.max(0).values.topk(min(SHOWN_STATES, behind.shape[1])).indices
        order = most[behind[:, most].argmax(0).argsort(stable=True)]
        return HeatMap("probability of hidden states", self._names(order), forms, behind.T[order].tolist())

    def state_graph(self) -> Graph:
        """Transitions between the states that texts are in most of the time, the most frequent first."""
        matrices, band = self.hmm.transition.factors()
        moving = steps(matrices, band)
        use = self.hmm.initial.softmax(0).unsqueeze(0)
        for _ in range(MIXING):
            use = (use + moving.advance(moving.message(use))) / 2  # halves, so that no cycle goes on for ever
        most = use[0].topk(min(SHOWN_STATES, self.hmm.states)).indices
        starts = torch.eye(self.hmm.states, dtype=use.dtype, device=use.device)[most]
        weights = moving.advance(moving.message(starts))[:, most].clamp(0.0, 1.0)
        return Graph("transitions between hidden states", self._names(most), weights.tolist())

    def _names(self, states: Tensor) -> list[str]:
        """The numbers of states, with the words that they say most."""
        emission = self.hmm.emission
        assert isinstance(emission, Symbols)
        said = emission.of_states(states).topk(min(SHOWN_WORDS, len(self.symbols)), 1).indices
        return [
            f"{state}: {' '.join(self.symbols[word] for word in words)}"
            for state, words in zip(states.tolist(), said.tolist(), strict=True)
        ]
