"""Distributions over texts: the questions that every language model answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.automata import Automaton
from strukt.data.sentence import Sentence
from strukt.errors import SettingError
from strukt.structures.guide import Guide
from strukt.tasks.common.prediction import noted
from strukt.viz import HeatMap
from strukt.viz.svg import Picture

State = Any
"""Where texts stand; each kind of distribution has its own, and only hands it on."""


class Text(ABC):
    """A distribution over sequences of words.

    Args:
        symbols: The words.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = symbols

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
        """The log-probability of each word given those before it: ``(batch, n)``, 0 beyond the lengths."""

    @abstractmethod
    def sample(self, count: int, length: int) -> Tensor:
        """Texts from the beginning on: ``(count, length)``; -1 behind the end, where that is no word."""

    def guide(self, constraint: Automaton, length: int, end: int) -> Guide[Any]:  # noqa: ARG002
        """The distribution given that a text meets a constraint.

        Args:
            constraint: Over the words.
            length: The largest number of words.
            end: The word that ends a text.

        Raises:
            SettingError: This kind of distribution cannot look ahead to a constraint.
            InfeasibleError: No text meets the constraint.
        """
        raise SettingError(
            "a constraint needs a model with hidden states or a grammar (--model hmm, lowrank-hmm, pcfg or "
            "lowrank-pcfg)"
        )

    def infill(self, x: Tensor, missing: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        """The log-probability of each word at each place, given those that are not missing: ``(batch, n, v)``.

        Raises:
            SettingError: Of this kind of distribution that is not known.
        """
        raise SettingError("--infill needs a model with hidden states (--model hmm or lowrank-hmm)")

    def annotated(self, sentences: Sequence[Sentence], x: Tensor, lengths: Tensor) -> list[Sentence]:
        """Sentences with what this says of them: the probability of each word given those before it.

        Raises:
            DataError: The format of a sentence has no place for that.
        """
        return [
            noted(sentence, row[: len(sentence)])
            for sentence, row in zip(sentences, self.word_log_probs(x, lengths).exp(), strict=True)
        ]

    def picture(self, forms: Sequence[str], x: Tensor) -> Picture:
        """Draw a text: the bits that each word takes.

        Args:
            forms: The words, as they are written.
            x: Their numbers, ``(1, n)``.
        """
        lengths = torch.tensor([x.shape[1]], device=x.device)
        bits = self.word_log_probs(x, lengths)[0] / -math.log(2)
        return HeatMap("bits for each word", ["bits"], forms, [bits.tolist()])
