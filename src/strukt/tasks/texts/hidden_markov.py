"""Texts of a hidden Markov model."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from typing_extensions import override

from strukt.distributions import HMM
from strukt.nn.encoders import mask_of
from strukt.tasks.texts.text import State, Text
from strukt.viz.heat_map import HeatMap

SHOWN_STATES = 12
"""The most states in a picture."""

SHOWN_WORDS = 3
"""Of each state in it."""


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
    def infill(self, x: Tensor, missing: Tensor, lengths: Tensor) -> Tensor:
        return self.hmm.infill(x, missing, lengths).log_probs

    @override
    def picture(self, forms: Sequence[str], x: Tensor) -> HeatMap:
        """How probable states are behind each word: the most probable ones, with the words that they say most."""
        behind = self.hmm.smooth(x)[0]
        most = behind.max(0).values.topk(min(SHOWN_STATES, behind.shape[1])).indices
        order = most[behind[:, most].argmax(0).argsort(stable=True)]
        said = self.hmm.emission.of_states(order).topk(min(SHOWN_WORDS, len(self.symbols)), 1).indices
        names = [
            f"{state}: {' '.join(self.symbols[word] for word in words)}"
            for state, words in zip(order.tolist(), said.tolist(), strict=True)
        ]
        return HeatMap("probability of hidden states", names, forms, behind.T[order].tolist())
