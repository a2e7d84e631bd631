"""The interface of distributions over texts."""

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
"""The state of a distribution after the words read so far; its type depends on the distribution."""


class Text(ABC):
    """A distribution over sequences of words.

    A subclass implements `stream`, `word_log_probs` and `sample`.

    Args:
        symbols: The words, in the order of their indices.

    Examples:
        >>> from strukt.data import conllu
        >>> from strukt.tasks.lm.config import Config
        >>> from strukt.tasks.lm.model import LanguageModel
        >>> model = LanguageModel.from_corpus(Config(), [conllu.from_forms(["dogs", "bark"])])
        >>> text = model.text()
        >>> text.symbols, text.word_log_probs(torch.tensor([[2, 3, 1]]), torch.tensor([3])).shape
        (('<unk>', '</s>', 'bark', 'dogs'), torch.Size([1, 3]))
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = symbols

    @abstractmethod
    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        """Return the log-probability of the next words of texts, and the state to continue from.

        Args:
            x: Word indices, ``(batch, n)``.
            lengths: ``(batch,)``, the numbers of words.
            state: The state after the words before `x`; None at the beginning of texts.

        Returns:
            The log-probability of the words of each text, ``(batch,)``, and the state after `x`. A text with
            padding cannot be continued from this state.
        """

    @abstractmethod
    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the log-probability of each word given the words before it, ``(batch, n)``; 0 in padding.

        Args:
            x: Word indices, ``(batch, n)``.
            lengths: ``(batch,)``, the numbers of words.

        Raises:
            SettingError: If this kind of distribution does not predict word by word.
        """

    @abstractmethod
    def sample(self, count: int, length: int) -> Tensor:
        """Sample the first words of texts, as word indices ``(count, length)``.

        If a word marks the end of a text, words that do not belong to the text may follow it; otherwise, entries
        after the end are -1.

        Raises:
            ScoresError: If the scores of the model cannot be used, for example because they are NaN.
        """

    def guide(self, constraint: Automaton, length: int, end: int) -> Guide[Any]:  # noqa: ARG002
        """Return the distribution over texts conditioned on a constraint.

        Args:
            constraint: A regular language over word indices.
            length: Maximum number of words.
            end: The word that ends a text.

        Raises:
            SettingError: If this kind of distribution cannot be conditioned.
            InfeasibleError: If no text satisfies the constraint.
        """
        raise SettingError(
            "a constraint needs a model with hidden states or a grammar (--model hmm, lowrank-hmm, pcfg or "
            "lowrank-pcfg)"
        )

    def infill(self, x: Tensor, missing: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Return the log-probability of every word at each position, given the words that are not missing.

        Args:
            x: Word indices, ``(batch, n)``; missing words may have any index.
            missing: ``(batch, n)``, a mask of the missing words.
            lengths: ``(batch,)``, the numbers of words.

        Returns:
            ``(batch, n, words)``, for all words of the vocabulary.

        Raises:
            SettingError: If this kind of distribution cannot compute it.
        """
        raise SettingError("--infill needs a model with hidden states (--model hmm or lowrank-hmm)")

    def annotated(self, sentences: Sequence[Sentence], x: Tensor, lengths: Tensor) -> list[Sentence]:
        """Return the sentences with the probability of each word, given the words before it, as a note.

        Args:
            sentences: The sentences.
            x: Their word indices, ``(batch, n)``; a word that marks the end may follow those of the sentence.
            lengths: ``(batch,)``, the numbers of words in `x`.

        Raises:
            DataError: If the format of a sentence has no place for notes.
        """
        return [
            noted(sentence, row[: len(sentence)])
            for sentence, row in zip(sentences, self.word_log_probs(x, lengths).exp(), strict=True)
        ]

    def picture(self, forms: Sequence[str], x: Tensor) -> Picture:
        """Draw the surprisal of each word of a text, in bits.

        Args:
            forms: The words of the text.
            x: Their word indices, ``(1, n)``.
        """
        lengths = torch.tensor([x.shape[1]], device=x.device)
        bits = self.word_log_probs(x, lengths)[0] / -math.log(2)
        return HeatMap("bits for each word", ["bits"], forms, [bits.tolist()])
