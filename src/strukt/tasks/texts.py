"""Distributions over texts: what a language model is asked, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from strukt.distributions import HMM
from strukt.nn import KneserNey
from strukt.nn.encoders import mask_of
from strukt.nn.recurrent import RecurrentLanguageModel

State = Any
"""Where texts stand; each kind of distribution has its own, and only hands it on."""


class Text(ABC):
    """A distribution over sequences of words."""

    @abstractmethod
    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        """The log-probability of the next words of texts, and the state to go on from.

        Args:
            x: ``(batch, n)``.
            lengths: ``(batch,)``.
            state: What this gave for the words before them; the beginning if None.

        Returns:
            ``(batch,)``, and the state.
        """

    @abstractmethod
    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The log-probability of each word given those before it: ``(batch, n)``."""

    @abstractmethod
    def sample(self, count: int, length: int) -> Tensor:
        """Texts from the beginning on: ``(count, length)``."""


class HiddenMarkovText(Text):
    """Texts of a hidden Markov model."""

    def __init__(self, hmm: HMM) -> None:
        self.hmm = hmm

    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        return self.hmm.stream(x, state, lengths)

    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        inside = mask_of(lengths, x.shape[1])
        words = x.masked_fill(~inside, 0)
        found = self.hmm.predict(words, lengths).gather(2, words[..., None]).squeeze(2)
        return found.masked_fill(~inside, 0)

    def sample(self, count: int, length: int) -> Tensor:
        return self.hmm.sample((count,), length)


class RecurrentText(Text):
    """Texts of a recurrent network."""

    def __init__(self, network: RecurrentLanguageModel) -> None:
        self.network = network

    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        log_probs, after = self.network(x, lengths, state)
        return log_probs.sum(1), after

    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        log_probs: Tensor = self.network(x, lengths)[0]
        return log_probs

    def sample(self, count: int, length: int) -> Tensor:
        state, words = self.network.beginning(count), []
        for _ in range(length):
            drawn = torch.multinomial(self.network.next(state).exp(), 1)
            words.append(drawn)
            state = self.network(drawn, drawn.new_ones(count), state)[1]
        return torch.cat(words, 1) if words else torch.zeros(count, 0, dtype=torch.long)


class CountedText(Text):
    """Texts of an n-gram model."""

    def __init__(self, counts: KneserNey) -> None:
        self.counts = counts

    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        before = self._beginning(len(x)) if state is None else state
        inside = mask_of(lengths, x.shape[1])
        words = x.masked_fill(~inside, 0)
        log_probs = self.counts.log_probs(words, before).masked_fill(~inside, 0)
        return log_probs.sum(1), torch.cat([before, words], 1)[:, x.shape[1] :]

    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        inside = mask_of(lengths, x.shape[1])
        return self.counts.log_probs(x.masked_fill(~inside, 0)).masked_fill(~inside, 0)

    def sample(self, count: int, length: int) -> Tensor:
        words = torch.zeros(count, 0, dtype=torch.long)
        for _ in range(length):
            words = torch.cat([words, torch.multinomial(self.counts.next(words).exp(), 1)], 1)
        return words

    def _beginning(self, batch: int) -> Tensor:
        return torch.full((batch, self.counts.order - 1), self.counts.beginning)
